/** PLM: latent attention whose keys and values are kept, and a feed-forward network of squared relu without a gate. */
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { LATENT, latentAttention, readLatent } from "../latent.ts";
import { latentSamplesOf } from "../latentSamples.ts";

export const plm = defineFamily({
  ...LATENT,
  name: "plm",
  architectures: ["plm"],
  read: (keys) => readLatent(keys, { rope: { pairing: "adjacent" }, queryRank: "none", canAbsorb: false }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x, d) =>
      layer.preNorm(
        x,
        (input) => latentAttention(d, layer, h, input),
        (input) => layer.feedForward(input, "relu2"),
      ),
    ),
  samples: latentSamplesOf("plm", { keys: {}, cache: "heads", hasNoQueryRank: true, output: "tied" }),
});
