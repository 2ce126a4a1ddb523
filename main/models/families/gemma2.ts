/**
 * Gemma 2: as Gemma, with a norm behind each branch, soft caps on scores and logits, and a window in
 * every other layer.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = {
  "attention.layer_norm_rms_epsilon": 1e-6,
  "attention.sliding_window": 16,
  attn_logit_softcapping: 5,
  final_logit_softcapping: 4,
};

export const gemma2 = defineFamily({
  ...DENSE,
  name: "gemma2",
  architectures: ["gemma2"],
  read: (keys) => {
    const h = readDense(keys, {
      rope: { pairing: "halves" },
      windows: { period: 2, size: 4096, rope: { base: "same", isScaled: true } },
    });
    const isLargest = h.layers === 46;
    return {
      ...h,
      attentionCap: keys.optionalNumber("attn_logit_softcapping") ?? 50,
      attentionScale: 1 / Math.sqrt(isLargest ? h.width / h.heads : h.headDim),
      scales: { embedding: Math.sqrt(h.width), logitCap: keys.optionalNumber("final_logit_softcapping") ?? 30 },
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.sandwich(
        x,
        (input) => layer.attend(layer.turned(layer.heads(input))),
        (input) => layer.gatedFeedForward(input, "gelu"),
      ),
    ),
  samples: [
    ...samplesOf("gemma2", { keys: KEYS, output: "tied" }),
    sampleOf("gemma2", "46 layers, another scale of scores", {
      keys: {
        ...KEYS,
        block_count: 46,
        embedding_length: 32,
        "attention.head_count": 4,
        "attention.key_length": 32,
        "attention.value_length": 32,
        feed_forward_length: 32,
      },
      output: "tied",
    }),
    sampleOf("gemma2", "default window and caps, a period of three, a rope of its own", {
      keys: {
        "attention.layer_norm_rms_epsilon": 1e-6,
        block_count: 3,
        "attention.sliding_window_pattern": 3,
        "rope.freq_base_swa": 500,
      },
      output: "tied",
    }),
  ],
});
