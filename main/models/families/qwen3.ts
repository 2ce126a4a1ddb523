/**
 * Qwen3: each head of q and k is normed before rope, which turns the two halves of a head. Files that name a pooling
 * make vectors of texts (Qwen3-Embedding), or score them by two labels (Qwen3-Reranker).
 */
import type { Value } from "../../ir/graph.ts";
import { DENSE, readDense } from "../dense.ts";
import type { DenseLayer } from "../denseBlocks.ts";
import { denseGraph } from "../denseBlocks.ts";
import type { DenseEmbedderHyper } from "../encoder.ts";
import { denseEmbedder, readEmbedder } from "../encoder.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf, SMALL_KEYS } from "../samples.ts";

const KEYS = { ...SMALL_KEYS, "attention.layer_norm_rms_epsilon": 1.5e-5 };

const block = (layer: DenseLayer, x: Value): Value =>
  layer.preNorm(x, (input) => layer.attend(layer.turned(layer.normed(layer.heads(input)))));

export const qwen3 = defineFamily({
  ...DENSE,
  name: "qwen3",
  architectures: ["qwen3", "qwen3moe"],
  read: (keys): DenseEmbedderHyper => ({
    ...readDense(keys, {
      rope: { pairing: "halves" },
      experts: { gating: "softmax", normalise: true, width: "all of a token" },
    }),
    embedder: readEmbedder(keys),
  }),
  graph: (h, weights, options) => denseGraph(h, weights, options, block),
  embedder: denseEmbedder(block, { softmax: true }),
  samples: [
    {
      title: "eight experts",
      architecture: "qwen3moe",
      untied: true,
      keys: { ...KEYS, expert_count: 8, expert_used_count: 2, expert_feed_forward_length: 32 },
    },
    {
      title: "heads wider than their share",
      architecture: "qwen3moe",
      keys: {
        ...KEYS,
        expert_count: 7,
        expert_used_count: 3,
        expert_feed_forward_length: 96,
        "attention.key_length": 32,
        "attention.value_length": 32,
      },
    },
    {
      title: "many small experts",
      architecture: "qwen3moe",
      untied: true,
      keys: {
        ...KEYS,
        block_count: 3,
        expert_count: 33,
        expert_used_count: 9,
        expert_feed_forward_length: 32,
        "attention.head_count": 3,
        "attention.head_count_kv": 3,
      },
    },
    {
      title: "experts with scales",
      architecture: "qwen3moe",
      has: /attn_(q|k|v|output)\.scale|_exps\.scale/u,
      keys: { ...KEYS, expert_count: 4, expert_used_count: 2, expert_feed_forward_length: 64 },
    },
    {
      title: "one layer, the size of the experts of a token",
      architecture: "qwen3moe",
      keys: {
        ...KEYS,
        block_count: 1,
        feed_forward_length: 320,
        expert_count: 4,
        expert_used_count: 2,
        "rope.freq_base": 1000000,
      },
    },
    ...samplesOf("qwen3", { keys: { "attention.layer_norm_rms_epsilon": 1.5e-5, pooling_type: 3 } }),
    sampleOf("qwen3", "scores of yes and no", {
      keys: {
        "attention.layer_norm_rms_epsilon": 1.5e-5,
        pooling_type: 4,
        "classifier.output_labels": ["yes", "no"],
      },
      marks: (width) => ({ "cls.output.weight": [2, width] }),
    }),
  ],
});
