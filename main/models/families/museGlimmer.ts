/**
 * Muse Glimmer: norms before and behind each branch, normed heads, a gate for what the heads saw.
 * Layers with a window turn their heads; every fourth sees everything and turns none. The embedding
 * is normed without a weight.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  "attention.sliding_window": 16,
  "attention.sliding_window_pattern": 4,
  logit_scale: 0.5,
};

export const museGlimmer = defineFamily({
  ...DENSE,
  name: "museGlimmer",
  architectures: ["muse-glimmer"],
  read: (keys) => {
    const h = readDense(keys, {
      rope: { pairing: "adjacent" },
      windows: { period: 4, isListed: true, rope: { base: "same", isScaled: false } },
    });
    // Which layers turn their heads is said by their windows alone.
    if (h.windows === undefined) throw keys.badKey("attention.sliding_window", 0, "1 or more positions");
    const logitCap = keys.optionalNumber("final_logit_softcapping") ?? 30;
    return {
      ...h,
      postNormEpsilon: 1e-8,
      scales: { logits: keys.number("logit_scale"), ...(logitCap !== 0 && { logitCap }) },
    };
  },
  graph: (h, weights, options) =>
    denseGraph(
      h,
      weights,
      options,
      (layer, x) =>
        layer.sandwich(x, (input) => {
          const heads = layer.normed(layer.heads(input));
          return layer.attendGated(layer.isLocal ? layer.turned(heads) : heads, layer.gate(input));
        }),
      (d, x) => d.scoped("embedding", () => d.plainNorm(x, h.width, "norm")),
    ),
  samples: [
    ...samplesOf("muse-glimmer", { keys: KEYS, output: "own" }),
    sampleOf("muse-glimmer", "windows as listed, a rope of their own, logits with a cap", {
      keys: {
        ...KEYS,
        block_count: 5,
        "attention.sliding_window_pattern": [true, false, true, true, false],
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 100_000,
        "rope.freq_base_swa": 10_000,
        final_logit_softcapping: 4,
      },
      output: "own",
    }),
    sampleOf("muse-glimmer", "five layers, one of them sees all", {
      keys: { ...KEYS, block_count: 5, "rope.freq_base": 100_000 },
      output: "own",
    }),
    sampleOf("muse-glimmer", "every second layer sees everything, a part of a head turned", {
      keys: {
        ...KEYS,
        block_count: 3,
        "attention.sliding_window_pattern": 2,
        "rope.dimension_count": 8,
        logit_scale: 1.5,
      },
      output: "own",
    }),
  ],
});
