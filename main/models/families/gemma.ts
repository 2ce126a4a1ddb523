/** Gemma: an embedding multiplied by √width, a feed-forward gated by gelu, one matrix for both ends. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_rms_epsilon": 1e-6 };

export const gemma = defineFamily({
  ...DENSE,
  name: "gemma",
  architectures: ["gemma"],
  read: (keys) => {
    const h = readDense(keys, { rope: { pairing: "halves" } });
    return { ...h, scales: { embedding: Math.sqrt(h.width) } };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(
        x,
        (input) => layer.attend(layer.turned(layer.heads(input))),
        (input) => layer.gatedFeedForward(input, "gelu"),
      ),
    ),
  samples: samplesOf("gemma", { keys: KEYS, output: "tied", optional: /attn_qkv\.weight/u }),
});
