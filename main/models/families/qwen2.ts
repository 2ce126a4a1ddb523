/**
 * Qwen2 and Qwen2.5: biases on q, k and v (added where the file has them), rope on the two halves of a head. Files that name a
 * pooling make vectors of texts.
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
  layer.preNorm(x, (input) => layer.attend(layer.turned(layer.heads(input))));

export const qwen2 = defineFamily({
  ...DENSE,
  name: "qwen2",
  architectures: ["qwen2", "qwen2moe"],
  read: (keys): DenseEmbedderHyper => ({
    ...readDense(keys, {
      rope: { pairing: "halves" },
      experts: {
        gating: "softmax",
        normalise: false,
        width: "all of a token",
        shared: { width: "key or feed_forward_length", gated: true },
      },
    }),
    embedder: readEmbedder(keys),
  }),
  graph: (h, weights, options) => denseGraph(h, weights, options, block),
  embedder: denseEmbedder(block),
  samples: [
    ...samplesOf("qwen2", {
      keys: { "attention.layer_norm_rms_epsilon": 1.5e-5, pooling_type: 3 },
      always: /attn_[qkv]\.bias/u,
    }).slice(0, 2),
    sampleOf("qwen2", "the mean of the tokens", {
      keys: { "attention.layer_norm_rms_epsilon": 1.5e-5, pooling_type: 1 },
      full: true,
    }),
    {
      title: "shared expert",
      architecture: "qwen2moe",
      untied: true,
      has: /attn_[qkv]\.bias/u,
      keys: {
        ...KEYS,
        expert_count: 8,
        expert_used_count: 2,
        expert_feed_forward_length: 32,
        expert_shared_feed_forward_length: 160,
      },
    },
    {
      title: "four of six, wide",
      architecture: "qwen2moe",
      untied: true,
      has: /attn_[qkv]\.bias/u,
      keys: {
        ...KEYS,
        block_count: 3,
        embedding_length: 128,
        "attention.head_count": 4,
        "attention.head_count_kv": 4,
        expert_count: 6,
        expert_used_count: 4,
        expert_feed_forward_length: 96,
        expert_shared_feed_forward_length: 64,
      },
    },
    {
      title: "one key head, no sizes of experts",
      architecture: "qwen2moe",
      untied: true,
      has: /attn_[qkv]\.bias/u,
      keys: {
        ...KEYS,
        "attention.head_count_kv": 1,
        feed_forward_length: 96,
        expert_count: 5,
        expert_used_count: 3,
        "rope.freq_base": 1000000,
      },
    },
    {
      title: "all experts",
      architecture: "qwen2moe",
      untied: true,
      has: /attn_[qkv]\.bias/u,
      keys: {
        ...KEYS,
        expert_count: 3,
        expert_used_count: 3,
        expert_feed_forward_length: 32,
        expert_shared_feed_forward_length: 96,
      },
    },
  ],
});
