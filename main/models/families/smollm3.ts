/** SmolLM3: a llama whose every fourth layer does not turn its heads. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const smollm3 = defineFamily({
  ...DENSE,
  name: "smollm3",
  architectures: ["smollm3"],
  read: (keys) => readDense(keys, { rope: { pairing: "adjacent" } }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => {
        const heads = layer.heads(input);
        const { q, k, v } = (layer.index + 1) % 4 === 0 ? heads : layer.turned(heads);
        return layer.attend(q, k, v);
      });
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input));
    }),
  samples: [
    ...samplesOf("smollm3", { keys: { "attention.layer_norm_rms_epsilon": 1e-5 } }),
    ...samplesOf("smollm3", { keys: { "attention.layer_norm_rms_epsilon": 1e-5, block_count: 5 } })
      .slice(0, 1)
      .map((sample) => ({ ...sample, title: "five layers" })),
  ],
});
