/** StarCoder2: norms and products with biases, a feed-forward of gelu without a gate. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const starcoder2 = defineFamily({
  ...DENSE,
  name: "starcoder2",
  architectures: ["starcoder2"],
  read: (keys) => readDense(keys, { rope: { pairing: "halves" }, norm: "layer" }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => {
        const { q, k, v } = layer.turned(layer.heads(input));
        return layer.attend(q, k, v);
      });
      return layer.residual("ffn", attended, (input) => layer.feedForward(input, "gelu"));
    }),
  samples: samplesOf("starcoder2", {
    keys: { "attention.layer_norm_epsilon": 1e-5 },
    always: /norm\.bias|ffn_(up|down)\.bias/u,
    optional: /attn_(q|k|v|output)\.bias/u,
    equalHeads: true,
  }),
});
