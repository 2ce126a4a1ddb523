/** GLM-4: norms before and behind each branch, biases on q, k and v, part of a head turned, gate and up from one matrix. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const glm4 = defineFamily({
  ...DENSE,
  name: "glm4",
  architectures: ["glm4"],
  read: (keys) => ({ ...readDense(keys, { rope: { pairing: "adjacent" } }), fusedGate: true }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.part("attention", () => {
        const { q, k, v } = layer.turned(layer.heads(layer.norm(x, "attn_norm")));
        return layer.add(x, layer.norm(layer.attend(q, k, v), "post_attention_norm"));
      });
      return layer.part("ffn", () => {
        const fed = layer.gatedFeedForward(layer.norm(attended, "ffn_norm"));
        return layer.add(attended, layer.norm(fed, "post_ffw_norm"));
      });
    }),
  samples: samplesOf("glm4", {
    keys: { "attention.layer_norm_rms_epsilon": 1e-5, "rope.dimension_count": 8 },
    optional: /attn_[qkv]\.bias/u,
  }),
});
