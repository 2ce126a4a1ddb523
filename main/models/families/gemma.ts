/** Gemma: an embedding that is multiplied by √width, a feed-forward gated by gelu, one matrix for both ends. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const gemma = defineFamily({
  ...DENSE,
  name: "gemma",
  architectures: ["gemma"],
  read: (keys) => {
    const h = readDense(keys, { rope: { pairing: "halves" } });
    return { ...h, scales: { embedding: Math.sqrt(h.width) } };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => {
        const { q, k, v } = layer.turned(layer.heads(input));
        return layer.attend(q, k, v);
      });
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input, "gelu"));
    }),
  samples: samplesOf("gemma", { keys: { "attention.layer_norm_rms_epsilon": 1e-6 }, output: "tied" }),
});
