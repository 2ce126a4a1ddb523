/**
 * OLMo 2 and 3: norms behind the branches instead of before them, q and k normed over their full
 * width. With windows, three layers of four have one, and a rope without scaling.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_rms_epsilon": 1e-6 };

export const olmo2 = defineFamily({
  ...DENSE,
  name: "olmo2",
  architectures: ["olmo2"],
  read: (keys) =>
    readDense(keys, {
      rope: { pairing: "halves" },
      windows: { period: 4, rope: { isScaled: false, attentionFactor: 1 } },
    }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.postNorm(x, (input) => layer.attend(layer.turned(layer.wideNormed(input)))),
    ),
  samples: [
    ...samplesOf("olmo2", { keys: KEYS, output: "own", equalHeads: true }),
    sampleOf("olmo2", "windows and yarn", {
      keys: {
        ...KEYS,
        block_count: 5,
        "attention.sliding_window": 16,
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 4,
        "rope.scaling.original_context_length": 32,
      },
      output: "own",
    }),
  ],
});
