/** Falcon: q, k and v from one matrix, both branches from one norm (or from two), gelu without a gate. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const falcon = defineFamily({
  ...DENSE,
  name: "falcon",
  architectures: ["falcon"],
  read: (keys) => readDense(keys, { rope: { pairing: "halves" }, norm: "layer" }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const normed = layer.norm(x, "attn_norm");
      const attended = layer.part("attention", () => {
        const input = layer.has("attn_norm_2.weight") ? layer.norm(x, "attn_norm_2") : normed;
        const { q, k, v } = layer.turned(layer.heads(input));
        return layer.add(x, layer.attend(q, k, v));
      });
      return layer.part("ffn", () => layer.add(attended, layer.feedForward(normed, "gelu")));
    }),
  samples: samplesOf("falcon", {
    keys: { "attention.layer_norm_epsilon": 1e-5 },
    always: /norm\.bias|attn_qkv\.weight/u,
    optional: /attn_norm_2/u,
    equalHeads: true,
  }),
});
