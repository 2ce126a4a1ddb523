/** InternLM2: a llama. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const internlm2 = defineFamily({
  ...DENSE,
  name: "internlm2",
  architectures: ["internlm2"],
  read: (keys) => readDense(keys, { rope: { pairing: "adjacent" } }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => {
        const { q, k, v } = layer.turned(layer.heads(input));
        return layer.attend(q, k, v);
      });
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input));
    }),
  samples: samplesOf("internlm2", { keys: { "attention.layer_norm_rms_epsilon": 1e-5 }, output: "own" }),
});
