/** StarCoder2: norms and products with biases, a feed-forward of gelu without a gate. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_epsilon": 1e-5 };

export const starcoder2 = defineFamily({
  ...DENSE,
  name: "starcoder2",
  architectures: ["starcoder2"],
  read: (keys) => readDense(keys, { rope: { pairing: "halves" }, norm: "layer" }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(
        x,
        (input) => layer.attend(layer.turned(layer.heads(input))),
        (input) => layer.feedForward(input, "gelu"),
      ),
    ),
  samples: samplesOf("starcoder2", {
    keys: KEYS,
    always: /norm\.bias|attn_output\.bias|ffn_(up|down)\.bias/u,
    optional: /attn_[qkv]\.bias/u,
    equalHeads: true,
  }),
});
