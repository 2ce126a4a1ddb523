/**
 * EXAONE 4: norms behind the branches, heads normed before they turn. In the largest, layers with a
 * window turn and the others do not.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_rms_epsilon": 1e-5 };

export const exaone4 = defineFamily({
  ...DENSE,
  name: "exaone4",
  architectures: ["exaone4"],
  read: (keys) =>
    readDense(keys, {
      rope: { pairing: "halves", factors: "rope_freqs.weight" },
      ...(keys.positive("block_count") === 64 && { windows: { period: 4, size: 4096 } }),
    }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.postNorm(x, (input) => {
        const heads = layer.normed(layer.heads(input));
        return layer.attend(h.windows === undefined || layer.isLocal ? layer.turned(heads) : heads);
      }),
    ),
  samples: [
    ...samplesOf("exaone4", { keys: KEYS, equalHeads: true }),
    sampleOf("exaone4", "64 layers, a quarter of them sees all", {
      keys: {
        ...KEYS,
        block_count: 64,
        embedding_length: 32,
        "attention.head_count": 4,
        feed_forward_length: 32,
        "attention.sliding_window": 16,
      },
    }),
  ],
});
