/** MiniCPM: a llama with factors on embedding, residual and logits. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_rms_epsilon": 1e-5 };

const BIASES = /attn_(q|k|v|output)\.bias|ffn_(gate|up|down)\.bias/u;

export const minicpm = defineFamily({
  ...DENSE,
  name: "minicpm",
  architectures: ["minicpm"],
  read: (keys) => {
    const h = readDense(keys, { rope: { pairing: "adjacent", factors: "rope_freqs.weight", hasLongFactors: true } });
    const factor = (key: string, otherwise: number): number => keys.optionalNumber(key) ?? otherwise;
    return {
      ...h,
      scales: {
        embedding: factor("embedding_scale", 12) || 1,
        residual: factor("residual_scale", 1.4 / Math.sqrt(h.layers)) || 1,
        // Old files lack the key. The factor is then the one that llama.cpp takes.
        logits: 1 / (factor("logit_scale", 256 / h.width) || 1),
      },
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => layer.attend(layer.turned(layer.heads(input)))),
    ),
  samples: [
    ...samplesOf("minicpm", {
      keys: { ...KEYS, embedding_scale: 3, residual_scale: 0.5, logit_scale: 2 },
      optional: BIASES,
    }),
    sampleOf("minicpm", "no factors in the file", { keys: KEYS, full: true }),
    sampleOf("minicpm", "divisors of a long context", {
      keys: {
        ...KEYS,
        "rope.scaling.type": "longrope",
        "rope.scaling.original_context_length": 32,
        "rope.scaling.attn_factor": 1.19,
      },
      marks: { "rope_factors_long.weight": [8], "rope_factors_short.weight": [8] },
    }),
  ],
});
