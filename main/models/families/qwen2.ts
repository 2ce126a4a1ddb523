/** Qwen2 and Qwen2.5: biases on q, k and v (added where the file has them), rope on the two halves of a head. */
import { DENSE, denseTensors, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";

export const qwen2 = defineFamily({
  ...DENSE,
  name: "qwen2",
  architectures: ["qwen2"],
  read: (keys) => readDense(keys, { pairing: "halves" }),
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
