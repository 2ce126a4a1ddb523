/** Falcon: q, k and v from one matrix, both branches from one norm (or two), gelu without a gate. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_epsilon": 1e-5 };

export const falcon = defineFamily({
  ...DENSE,
  name: "falcon",
  architectures: ["falcon"],
  read: (keys) => readDense(keys, { rope: { pairing: "halves" }, norm: "layer" }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.parallel(
        x,
        (input) => {
          const own = layer.has("attn_norm_2.weight") ? layer.norm(x, "attn_norm_2") : input;
          return layer.attend(layer.turned(layer.heads(own)));
        },
        (input) => layer.feedForward(input, "gelu"),
      ),
    ),
  samples: samplesOf("falcon", {
    keys: KEYS,
    always: /norm\.bias|attn_qkv\.weight/u,
    optional: /attn_norm_2/u,
    equalHeads: true,
  }),
});
