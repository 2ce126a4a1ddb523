/**
 * Gemma 3: as Gemma 2 with normed heads and no cap on scores; five layers of six have a window and a
 * rope of their own.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_rms_epsilon": 1e-6, "attention.sliding_window": 16 };

export const gemma3 = defineFamily({
  ...DENSE,
  name: "gemma3",
  architectures: ["gemma3"],
  read: (keys) => {
    const local = { base: 10_000, isScaled: false };
    const h = readDense(keys, { rope: { pairing: "halves" }, windows: { period: 6, rope: local } });
    const isLargest = h.layers === 62;
    const logitCap = keys.optionalNumber("final_logit_softcapping") ?? 0;
    return {
      ...h,
      attentionScale: 1 / Math.sqrt(isLargest ? h.width / h.heads : h.headDim),
      scales: { embedding: Math.sqrt(h.width), ...(logitCap !== 0 && { logitCap }) },
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.sandwich(
        x,
        (input) => layer.attend(layer.turned(layer.normed(layer.heads(input)))),
        (input) => layer.gatedFeedForward(input, "gelu"),
      ),
    ),
  samples: [
    ...samplesOf("gemma3", {
      keys: {
        ...KEYS,
        "rope.freq_base": 1_000_000,
        "rope.scaling.type": "linear",
        "rope.scaling.factor": 8,
      },
    }),
    sampleOf("gemma3", "seven layers, one of them sees all", {
      keys: {
        ...KEYS,
        block_count: 7,
        "attention.sliding_window": 24,
        final_logit_softcapping: 6,
        "rope.scaling.attn_factor": 0.9,
      },
    }),
    sampleOf("gemma3", "no windows", {
      keys: { "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1_000_000 },
    }),
  ],
});
