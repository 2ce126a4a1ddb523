/** MiniCPM 3: MiniCPM's factors around latent attention whose keys and values are kept, with divisors of rope. */
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { LATENT, latentAttention, readLatent } from "../latent.ts";
import { latentSampleOf, latentSamplesOf } from "../latentSamples.ts";

const LONG = {
  "rope.scaling.type": "longrope",
  "rope.scaling.original_context_length": 32,
  "rope.scaling.attn_factor": 1.19,
};
const factors = (turning: number): Record<string, readonly number[]> => ({
  "rope_factors_long.weight": [turning / 2],
  "rope_factors_short.weight": [turning / 2],
});

export const minicpm3 = defineFamily({
  ...LATENT,
  name: "minicpm3",
  architectures: ["minicpm3"],
  read: (keys) => {
    const rope = { pairing: "halves", hasLongFactors: true } as const;
    const h = readLatent(keys, { rope, queryRank: "file", canAbsorb: false });
    // Files have no keys for these.
    return { ...h, scales: { embedding: 12, residual: 1.4 / Math.sqrt(h.layers), logits: 256 / h.width } };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x, d) => layer.preNorm(x, (input) => latentAttention(d, layer, h, input))),
  samples: [
    ...latentSamplesOf("minicpm3", { keys: {}, cache: "heads" }),
    latentSampleOf("minicpm3", "divisors of a long context", { keys: LONG, cache: "heads", marks: factors }),
    latentSampleOf("minicpm3", "divisors of a short context", {
      keys: { ...LONG, "rope.scaling.original_context_length": 4096 },
      cache: "heads",
      marks: factors,
      isFull: true,
    }),
  ],
});
