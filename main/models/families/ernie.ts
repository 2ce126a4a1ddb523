/** ERNIE 4.5: a llama; in the mixtures every so many layers have experts, picked with a bias, and a shared one. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const ernie = defineFamily({
  ...DENSE,
  name: "ernie",
  architectures: ["ernie4_5", "ernie4_5-moe"],
  read: (keys) =>
    readDense(keys, {
      rope: { pairing: "adjacent" },
      experts: { gating: "softmax", normalise: true, shared: { width: "count", gated: false } },
    }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => {
        const { q, k, v } = layer.turned(layer.heads(input));
        return layer.attend(q, k, v);
      });
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input));
    }),
  samples: [
    ...samplesOf("ernie4_5", {
      keys: { "attention.layer_norm_rms_epsilon": 1e-5 },
      optional: /attn_(q|k|v|output)\.bias/u,
    }),
    ...samplesOf("ernie4_5-moe", {
      keys: {
        "attention.layer_norm_rms_epsilon": 1e-5,
        block_count: 3,
        leading_dense_block_count: 1,
        interleave_moe_layer_step: 1,
        expert_count: 5,
        expert_used_count: 2,
        expert_feed_forward_length: 32,
        expert_shared_count: 1,
        expert_shared_feed_forward_length: 32,
      },
      optional: /exp_probs_b/u,
    }),
  ],
});
