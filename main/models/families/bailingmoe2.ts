/**
 * Ling and Ring 2: q, k and v from one matrix, heads normed before they turn, experts picked in
 * groups by sigmoid and a bias.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  block_count: 3,
  "rope.dimension_count": 8,
  leading_dense_block_count: 1,
  expert_count: 8,
  expert_used_count: 3,
  expert_feed_forward_length: 32,
  expert_shared_count: 1,
  expert_group_count: 4,
  expert_group_used_count: 2,
  expert_gating_func: 2,
  expert_weights_norm: true,
  expert_weights_scale: 2.5,
};

export const bailingmoe2 = defineFamily({
  ...DENSE,
  name: "bailingmoe2",
  architectures: ["bailingmoe2"],
  read: (keys) =>
    readDense(keys, {
      rope: { pairing: "halves" },
      experts: {
        gating: "softmax",
        reads: "gating and scale",
        normalise: "file",
        shared: { width: "key or count", gated: false },
      },
    }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => layer.attend(layer.turned(layer.normed(layer.heads(input))))),
    ),
  samples: [
    ...samplesOf("bailingmoe2", {
      keys: KEYS,
      output: "own",
      always: /attn_qkv\.weight/u,
      optional: /exp_probs_b/u,
      equalHeads: true,
    }),
    sampleOf("bailingmoe2", "two shared experts, no groups, softmax", {
      keys: {
        ...KEYS,
        expert_shared_count: 2,
        expert_shared_feed_forward_length: 64,
        expert_group_count: 1,
        expert_gating_func: 1,
        expert_weights_norm: false,
      },
      output: "own",
      always: /attn_qkv\.weight/u,
    }),
  ],
});
