/** Phi-2: one norm for both branches, biases everywhere, part of a head turned, gelu without a gate. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_epsilon": 1e-5, "rope.dimension_count": 8 };

export const phi2 = defineFamily({
  ...DENSE,
  name: "phi2",
  architectures: ["phi2"],
  read: (keys) => readDense(keys, { rope: { pairing: "halves" }, norm: "layer" }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.parallel(
        x,
        (input) => layer.attend(layer.turned(layer.heads(input))),
        (input) => layer.feedForward(input, "gelu"),
      ),
    ),
  samples: samplesOf("phi2", {
    keys: KEYS,
    output: "own",
    always: /\.bias/u,
    optional: /attn_qkv\.weight/u,
    equalHeads: true,
    ownKeys: true,
  }),
});
