/**
 * Command A with experts: both branches from one norm; layers with a window turn their heads, and so
 * do the first, which have no experts. Sums with a shared expert are halved.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = {
  "attention.layer_norm_epsilon": 1e-5,
  logit_scale: 0.25,
  block_count: 4,
  "attention.sliding_window": 16,
  "attention.sliding_window_pattern": 2,
  leading_dense_block_count: 1,
  expert_count: 6,
  expert_used_count: 2,
  expert_feed_forward_length: 32,
  expert_shared_count: 2,
  expert_weights_norm: true,
};

export const cohere2moe = defineFamily({
  ...DENSE,
  name: "cohere2moe",
  architectures: ["cohere2moe"],
  read: (keys) => {
    const scale = keys.optionalNumber("logit_scale") ?? 0;
    return {
      ...readDense(keys, {
        rope: { pairing: "adjacent" },
        norm: keys.optionalNumber("attention.layer_norm_rms_epsilon") === undefined ? "layer" : "rms",
        windows: { period: 1, isDenseFirst: true, isListed: true },
        experts: {
          gating: "sigmoid",
          reads: "gating and scale",
          normalise: "file",
          shared: { width: "whole key or count", gated: false, share: 0.5 },
        },
      }),
      scales: { logits: scale === 0 ? 1 : scale },
      firstLayers: keys.optionalCount("leading_dense_block_count") ?? 0,
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.parallel(
        x,
        (input) => {
          const heads = layer.heads(input);
          return layer.attend(layer.isLocal || layer.index < h.firstLayers ? layer.turned(heads) : heads);
        },
        (input) => layer.gatedFeedForward(input),
      ),
    ),
  samples: [
    ...samplesOf("cohere2moe", { keys: KEYS, optional: /ffn_gate_up_exps\.weight/u }),
    sampleOf("cohere2moe", "windows layer by layer, no shared expert, another norm", {
      keys: {
        ...KEYS,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.sliding_window_pattern": [false, true, true, false],
        expert_shared_count: 0,
        expert_gating_func: 1,
        expert_weights_norm: false,
        expert_weights_scale: 1.5,
      },
    }),
    sampleOf("cohere2moe", "a layer that guesses ahead", {
      keys: { ...KEYS, nextn_predict_layers: 1, block_count: 5, expert_shared_feed_forward_length: 96 },
      drafts: 1,
    }),
  ],
});
