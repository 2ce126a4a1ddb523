/**
 * Nemotron: norms of mean and variance whose weights are stored one higher, part of a head turned,
 * squared relu without a gate.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_epsilon": 1e-5, "rope.dimension_count": 8 };

export const nemotron = defineFamily({
  ...DENSE,
  name: "nemotron",
  architectures: ["nemotron"],
  read: (keys) => readDense(keys, { rope: { pairing: "halves" }, norm: "layer" }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(
        x,
        (input) => layer.attend(layer.turned(layer.heads(input))),
        (input) => layer.feedForward(input, "relu2"),
      ),
    ),
  samples: samplesOf("nemotron", {
    keys: KEYS,
    output: "own",
    always: /norm\.bias/u,
    optional: /attn_(q|k|v|output)\.bias|ffn_(up|down)\.bias/u,
    equalHeads: true,
  }),
});
