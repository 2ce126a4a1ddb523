/** SmolLM3: a llama whose every fourth layer does not turn its heads. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_rms_epsilon": 1e-5 };

export const smollm3 = defineFamily({
  ...DENSE,
  name: "smollm3",
  architectures: ["smollm3"],
  read: (keys) => readDense(keys, { rope: { pairing: "adjacent" } }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => {
        const heads = layer.heads(input);
        return layer.attend((layer.index + 1) % 4 === 0 ? heads : layer.turned(heads));
      }),
    ),
  samples: [
    ...samplesOf("smollm3", { keys: KEYS, optional: /attn_[qkv]\.bias/u }),
    sampleOf("smollm3", "five layers", { keys: { ...KEYS, block_count: 5 } }),
  ],
});
