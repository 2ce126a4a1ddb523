/**
 * EmbeddingGemma: the layers of Gemma 3 both ways, five of six with a window to both sides; the mean of the tokens goes
 * through two matrices in files that have them.
 */
import type { Value } from "../../ir/graph.ts";
import type { DenseLayer } from "../denseBlocks.ts";
import type { EncoderHyper } from "../encoder.ts";
import { ENCODER, readEncoder, textLayers } from "../encoder.ts";
import { defineEncoder } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";
import type { Projection } from "../textGraph.ts";

interface GemmaHyper extends EncoderHyper {
  readonly projection: Projection | undefined;
}

const block = (layer: DenseLayer, x: Value): Value =>
  layer.sandwich(
    x,
    (input) => layer.attend(layer.turned(layer.normed(layer.heads(input)))),
    (input) => layer.gatedFeedForward(input, "gelu"),
  );

// llama.cpp ends itself where no layer, or each, has a window.
const KEYS = {
  block_count: 3,
  "attention.sliding_window_pattern": 2,
  "attention.layer_norm_rms_epsilon": 1e-6,
  "attention.sliding_window": 16,
  "rope.freq_base": 1_000_000,
  pooling_type: 1,
};

export const gemmaEmbedding = defineEncoder<GemmaHyper>({
  ...ENCODER,
  name: "gemmaEmbedding",
  architectures: ["gemma-embedding"],
  read: (keys) => {
    const h = readEncoder(keys, {
      rope: { pairing: "halves" },
      windows: { period: 6, rope: { base: 10_000, isScaled: false } },
    });
    const isProjected = keys.has("dense_2.weight") && keys.has("dense_3.weight");
    return {
      ...h,
      scales: { embedding: Math.sqrt(h.width) },
      projection: isProjected ? { inner: keys.positive("dense_2_feat_out") } : undefined,
    };
  },
  embedder: {
    reading: ({ embedder }) => embedder,
    graph: textLayers<GemmaHyper>({
      block,
      rules: ({ projection }) => ({ sight: "both ways", finalNorm: "output_norm", projection }),
    }),
  },
  samples: [
    ...samplesOf("gemma-embedding", { keys: KEYS, output: "tied" }),
    sampleOf("gemma-embedding", "seven layers, one of them sees all, two matrices behind the mean", {
      keys: {
        ...KEYS,
        block_count: 7,
        "attention.sliding_window_pattern": 6,
        "rope.scaling.type": "linear",
        "rope.scaling.factor": 8,
        dense_2_feat_in: 96,
        dense_2_feat_out: 160,
        dense_3_feat_in: 160,
        dense_3_feat_out: 96,
      },
      output: "tied",
      marks: { "dense_2.weight": [160, 96], "dense_3.weight": [96, 160] },
    }),
  ],
});
