/** MiniCPM: a llama with factors on embedding, residual and logits. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const minicpm = defineFamily({
  ...DENSE,
  name: "minicpm",
  architectures: ["minicpm"],
  read: (keys) => {
    const h = readDense(keys, { rope: { pairing: "adjacent" } });
    return {
      ...h,
      scales: {
        embedding: keys.optionalNumber("embedding_scale") ?? 12,
        residual: keys.optionalNumber("residual_scale") ?? 1.4 / Math.sqrt(h.layers),
        logits: 1 / (keys.optionalNumber("logit_scale") ?? h.width / 256),
      },
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => {
        const { q, k, v } = layer.turned(layer.heads(input));
        return layer.attend(q, k, v);
      });
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input));
    }),
  samples: [
    ...samplesOf("minicpm", { keys: { "attention.layer_norm_rms_epsilon": 1e-5 } }),
    ...samplesOf("minicpm", {
      keys: { "attention.layer_norm_rms_epsilon": 1e-5, embedding_scale: 3, residual_scale: 0.5, logit_scale: 2 },
    })
      .slice(1, 2)
      .map((sample) => ({ ...sample, title: "factors of its own" })),
  ],
});
