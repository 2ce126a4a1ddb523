/** The first DeepSeek mixture: a llama whose layers have experts behind the first ones, with shared ones beside. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = {
  "attention.layer_norm_rms_epsilon": 1e-6,
  block_count: 3,
  leading_dense_block_count: 1,
  expert_count: 6,
  expert_used_count: 2,
  expert_feed_forward_length: 32,
  expert_shared_count: 2,
};

export const deepseek = defineFamily({
  ...DENSE,
  name: "deepseek",
  architectures: ["deepseek"],
  read: (keys) =>
    readDense(keys, {
      rope: { pairing: "adjacent", factors: "rope_freqs.weight" },
      experts: { gating: "softmax", reads: "scale", normalise: false, shared: { width: "count", gated: false } },
    }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => layer.attend(layer.turned(layer.heads(input)))),
    ),
  samples: [
    ...samplesOf("deepseek", { keys: KEYS, optional: /attn_[qkv]\.bias/u, equalHeads: true }),
    sampleOf("deepseek", "two dense layers, weights of experts scaled", {
      keys: { ...KEYS, block_count: 4, leading_dense_block_count: 2, expert_weights_scale: 1.5 },
    }),
  ],
});
