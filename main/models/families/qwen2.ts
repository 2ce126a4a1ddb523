/** Qwen2 and Qwen2.5: biases on q, k and v (added where the file has them), rope on the two halves of a head. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";

const KEYS = {
  block_count: 2,
  context_length: 256,
  embedding_length: 96,
  feed_forward_length: 64,
  "attention.head_count": 6,
  "attention.head_count_kv": 2,
  "attention.layer_norm_rms_epsilon": 1.5e-5,
};

export const qwen2 = defineFamily({
  ...DENSE,
  name: "qwen2",
  architectures: ["qwen2", "qwen2moe"],
  read: (keys) =>
    readDense(keys, {
      rope: { pairing: "halves" },
      experts: { gating: "softmax", normalise: false, shared: { width: "key", gated: true } },
    }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => layer.attend(layer.turned(layer.heads(input)))),
    ),
  samples: [
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
      title: "one key head",
      architecture: "qwen2moe",
      untied: true,
      has: /attn_[qkv]\.bias/u,
      keys: {
        ...KEYS,
        "attention.head_count_kv": 1,
        expert_count: 5,
        expert_used_count: 3,
        expert_feed_forward_length: 64,
        expert_shared_feed_forward_length: 32,
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
