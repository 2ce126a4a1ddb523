/**
 * Jamba: layers without key heads mix their tokens in a Mamba whose step, b and c are normed; attention does not turn
 * positions. Some layers have experts: those with a router.
 */
import { DENSE, mixedSentence, mixedSizes, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import type { FamilySample, SampleKeys } from "../family.ts";
import { defineFamily } from "../family.ts";
import { mamba1, mamba1Facts, mamba1Held, readMamba1 } from "../mamba.ts";
import { sampleOf } from "../samples.ts";

const KEYS: SampleKeys = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  "ssm.conv_kernel": 4,
  "ssm.inner_size": 192,
  "ssm.state_size": 16,
  "ssm.time_step_rank": 6,
};

/** `kv`: the key heads of each layer; `routed`: the layers with experts. */
const hybrid = (
  title: string,
  kv: readonly number[],
  keys: SampleKeys,
  { routed = [], untied = false }: { readonly routed?: readonly number[]; readonly untied?: boolean } = {},
): FamilySample => {
  const sample = sampleOf("jamba", title, { keys: { ...KEYS, ...keys }, always: /ssm_(conv1d|dt)\.bias/u });
  return {
    ...sample,
    untied,
    keys: { ...sample.keys, block_count: kv.length, "attention.head_count_kv": kv },
    marks: Object.fromEntries(
      routed.map((layer) => [
        `blk.${layer}.ffn_gate_inp.weight`,
        [Number(keys["expert_count"]), Number(sample.keys["embedding_length"])],
      ]),
    ),
  };
};

export const jamba = defineFamily({
  ...DENSE,
  name: "jamba",
  architectures: ["jamba"],
  read: (keys) => {
    const experts = { gating: "softmax", normalise: false } as const;
    const dense = readDense(keys, { rope: { pairing: "halves" }, attention: "where keys", experts });
    return {
      ...dense,
      rope: { ...dense.rope, dims: 0 },
      experts: dense.experts && {
        ...dense.experts,
        isMixture: (layer: number) => keys.has(`blk.${layer}.ffn_gate_inp.weight`),
      },
      mixer: readMamba1(keys, "weights"),
    };
  },
  sizes: (h) => mixedSizes(h, ...mamba1Held(h.mixer)),
  sentence: (h) => mixedSentence(h, "a state space"),
  facts: (h) => [...DENSE.facts(h), ...mamba1Facts(h.mixer)],
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) =>
        h.attends?.(layer.index) === false ? mamba1(layer.place, h.mixer, input) : layer.attend(layer.heads(input)),
      ),
    ),
  samples: [
    hybrid("small", [0, 2], {}),
    hybrid("four layers, one key head, own output", [0, 1, 0, 0], { "ssm.conv_kernel": 3 }, { untied: true }),
    hybrid("odd sizes", [3, 0], {
      embedding_length: 60,
      "ssm.inner_size": 120,
      "ssm.state_size": 5,
      "ssm.time_step_rank": 3,
    }),
    hybrid("experts in every second layer", [0, 2, 0], { expert_count: 6, expert_used_count: 2 }, { routed: [0, 2] }),
  ],
});
