/**
 * Nemotron-H: one part in each layer: a Mamba 2, attention that does not turn positions, or a feed-forward network of
 * squared relu without a gate, in some files a mixture. Key heads and feed-forward sizes say which.
 */
import type { DenseHyper } from "../dense.ts";
import { DENSE, attendingLayers, mixedSizes, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import type { FamilySample, SampleKeys } from "../family.ts";
import { defineFamily } from "../family.ts";
import type { Mamba2 } from "../mamba.ts";
import { mamba2, mamba2Facts, mamba2Held, readMamba2 } from "../mamba.ts";
import { sampleOf } from "../samples.ts";

interface NemotronHHyper extends DenseHyper {
  readonly mixer: Mamba2;
  readonly isNetwork: (layer: number) => boolean;
}

function ofKind(h: NemotronHHyper, kind: "state space" | "network"): number {
  const networks = Array.from({ length: h.layers }, (_, i) => h.isNetwork(i)).filter(Boolean).length;
  return kind === "network" ? networks : h.layers - networks - attendingLayers(h);
}

const KEYS: SampleKeys = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  // llama.cpp wants this one too, and does not use it.
  "attention.layer_norm_epsilon": 1e-2,
  "ssm.conv_kernel": 4,
  "ssm.inner_size": 192,
  "ssm.state_size": 32,
  "ssm.time_step_rank": 6,
  "ssm.group_count": 2,
};
const EXPERTS: SampleKeys = {
  expert_count: 6,
  expert_used_count: 2,
  expert_feed_forward_length: 32,
  expert_shared_feed_forward_length: 96,
  expert_shared_count: 1,
  expert_weights_norm: true,
  expert_weights_scale: 2.5,
  expert_group_count: 1,
  expert_group_used_count: 1,
};

/** M: a state space, *: attention, -: a network. */
const layered = (
  architecture: string,
  title: string,
  kinds: string,
  keys: SampleKeys,
  { untied = false, has }: { readonly untied?: boolean; readonly has?: RegExp } = {},
): FamilySample => {
  const always = /ssm_(conv1d\.bias|norm)|exp_probs_b/u;
  const sample = sampleOf(architecture, title, {
    keys: { ...KEYS, ...keys },
    full: has !== undefined,
    always,
    ...(has !== undefined && { optional: has }),
  });
  const each = (kind: string, count: number): readonly number[] => kinds.split("").map((k) => (k === kind ? count : 0));
  return {
    ...sample,
    untied,
    keys: {
      ...sample.keys,
      block_count: kinds.length,
      "attention.head_count": 6,
      "attention.head_count_kv": each("*", 2),
      feed_forward_length: each("-", 64),
    },
  };
};

export const nemotronH = defineFamily<NemotronHHyper>({
  ...DENSE,
  name: "nemotronH",
  architectures: ["nemotron_h", "nemotron_h_moe"],
  read: (keys) => {
    const dense = readDense(keys, {
      rope: { pairing: "halves" },
      attention: "where keys",
      experts: {
        gating: "sigmoid",
        reads: "scale",
        normalise: "file",
        activation: "squared",
        shared: { width: "key", gated: false },
      },
    });
    const network = keys.sameWhereAny("feed_forward_length", dense.layers + (dense.draftLayers ?? 0));
    return { ...dense, rope: { ...dense.rope, dims: 0 }, mixer: readMamba2(keys), isNetwork: network.has };
  },
  sizes: (h) => mixedSizes(h, ...mamba2Held(h.mixer), ofKind(h, "state space")),
  sentence: (h) => {
    const network = h.experts === undefined ? "feed-forward" : "experts";
    const parts = `${ofKind(h, "state space")} × state space, ${attendingLayers(h)} × attention`;
    return `A decoder of ${h.layers} layers with one part each: ${parts}, ${ofKind(h, "network")} × ${network}.`;
  },
  facts: (h) => [...DENSE.facts(h), ...mamba2Facts(h.mixer)],
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const { index } = layer;
      if (h.isNetwork(index))
        return layer.residual(
          "ffn",
          x,
          (input) => (h.experts === undefined ? layer.feedForward(input, "relu2") : layer.gatedFeedForward(input)),
          "attn_norm",
        );
      return layer.residual("attention", x, (input) =>
        h.attends?.(index) === false ? mamba2(layer.place, h.mixer, input) : layer.attend(layer.heads(input)),
      );
    }),
  samples: [
    layered("nemotron_h", "small", "M*-", {}),
    layered(
      "nemotron_h",
      "five layers, biases, own output",
      "MM-*-",
      { "ssm.group_count": 1 },
      {
        untied: true,
        has: /attn_(q|k|v|output)\.bias|ffn_(up|down)\.bias/u,
      },
    ),
    layered("nemotron_h", "network first, odd sizes", "-M*M", { "ssm.state_size": 7, "ssm.conv_kernel": 3 }),
    layered("nemotron_h", "wide heads", "*-M", {
      "attention.key_length": 32,
      "attention.value_length": 32,
      "ssm.inner_size": 96,
      "ssm.time_step_rank": 3,
      "ssm.group_count": 3,
    }),
    layered("nemotron_h_moe", "small", "M*-", EXPERTS),
    layered(
      "nemotron_h_moe",
      "weights as they are, own output",
      "M-*-",
      {
        ...EXPERTS,
        expert_weights_norm: false,
        expert_weights_scale: 1,
      },
      { untied: true },
    ),
    layered("nemotron_h_moe", "three of five experts", "-M*", { ...EXPERTS, expert_count: 5, expert_used_count: 3 }),
    layered("nemotron_h_moe", "experts in a latent space", "M-*-", { ...EXPERTS, moe_latent_size: 48 }),
  ],
});
