/**
 * Llama 2 and 3, Mistral and their kin: rope on neighbouring pairs (the converter permuted q and k
 * for it), no head norms.
 */
import { DENSE, denseTensors, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";

export const llama = defineFamily({
  ...DENSE,
  name: "llama",
  architectures: ["llama"],
  read: (keys) => readDense(keys, { pairing: "adjacent", factors: "rope_freqs.weight" }),
  tensors: (h) => denseTensors(h),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => {
        const q = layer.rope(layer.project(input, "q"), "q");
        const k = layer.rope(layer.project(input, "k"), "k");
        return layer.attend(q, k, layer.project(input, "v"));
      });
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input));
    }),
});
