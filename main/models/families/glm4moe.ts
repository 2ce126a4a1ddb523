/**
 * GLM-4.5 to 4.7: biases on q, k and v, part of a head turned, experts picked by sigmoid and a bias
 * behind the first layers. The norm before the feed-forward is called post_attention_norm.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { SIGMOID_EXPERTS } from "../experts.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  block_count: 3,
  "rope.dimension_count": 8,
  leading_dense_block_count: 1,
  expert_count: 6,
  expert_used_count: 2,
  expert_feed_forward_length: 32,
  expert_shared_count: 1,
  expert_weights_norm: true,
  expert_weights_scale: 1.5,
};

export const glm4moe = defineFamily({
  ...DENSE,
  name: "glm4moe",
  architectures: ["glm4moe"],
  read: (keys) =>
    readDense(keys, {
      rope: { pairing: "halves" },
      experts: SIGMOID_EXPERTS,
    }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) =>
        layer.attend(layer.turned(layer.normedIfGiven(layer.heads(input)))),
      );
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input), "post_attention_norm");
    }),
  samples: [
    ...samplesOf("glm4moe", {
      keys: KEYS,
      always: /exp_probs_b|attn_[qkv]\.bias/u,
      optional: /attn_[qk]_norm\.weight/u,
    }),
    sampleOf("glm4moe", "a layer that guesses ahead", {
      keys: { ...KEYS, nextn_predict_layers: 1, "rope.dimension_sections": [1, 2, 1, 0] },
      always: /exp_probs_b|attn_[qkv]\.bias/u,
      drafts: 1,
    }),
  ],
});
