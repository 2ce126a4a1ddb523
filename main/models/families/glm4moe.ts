/** GLM-4.5 to 4.7: biases on q, k and v, part of a head turned, experts picked by sigmoid and a bias behind the first layers. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const glm4moe = defineFamily({
  ...DENSE,
  name: "glm4moe",
  architectures: ["glm4moe"],
  read: (keys) =>
    readDense(keys, {
      rope: { pairing: "halves" },
      experts: { gating: "sigmoid", normalise: "file", shared: { width: "count", gated: false } },
    }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => {
        const { q, k, v } = layer.heads(input);
        const isNormed = layer.has("attn_q_norm.weight");
        const turned = layer.turned(
          isNormed ? { q: layer.headNorm(q, "q"), k: layer.headNorm(k, "k"), v } : { q, k, v },
        );
        return layer.attend(turned.q, turned.k, v);
      });
      return layer.part("ffn", () =>
        layer.add(attended, layer.gatedFeedForward(layer.norm(attended, "post_attention_norm"))),
      );
    }),
  samples: samplesOf("glm4moe", {
    keys: {
      "attention.layer_norm_rms_epsilon": 1e-5,
      block_count: 3,
      "rope.dimension_count": 8,
      leading_dense_block_count: 1,
      expert_count: 6,
      expert_used_count: 2,
      expert_feed_forward_length: 32,
      expert_shared_count: 1,
      expert_gating_func: 2,
      expert_weights_norm: true,
      expert_weights_scale: 1.5,
    },
    output: "own",
    always: /exp_probs_b|attn_[qkv]\.bias/u,
    optional: /attn_[qk]_norm/u,
  }),
});
