/** OLMo 1: norms without weights; q, k and v may be kept within a limit. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const olmo = defineFamily({
  ...DENSE,
  name: "olmo",
  architectures: ["olmo"],
  read: (keys) => ({
    ...readDense(keys, { rope: { pairing: "adjacent" }, norm: "bare" }),
    clamp: keys.optionalNumber("attention.clamp_kqv"),
  }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => {
        const { q, k, v } = layer.turned(layer.heads(input));
        return layer.attend(q, k, v);
      });
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input));
    }),
  samples: [
    ...samplesOf("olmo", { keys: { "attention.layer_norm_epsilon": 1e-5 }, equalHeads: true }),
    ...samplesOf("olmo", {
      keys: { "attention.layer_norm_epsilon": 1e-5, "attention.clamp_kqv": 0.75 },
      equalHeads: true,
    })
      .slice(1, 2)
      .map((sample) => ({ ...sample, title: "q, k and v within a limit" })),
  ],
});
