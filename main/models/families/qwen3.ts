/** Qwen3: each head of q and k is normed before rope, which turns the two halves of a head. */
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

export const qwen3 = defineFamily({
  ...DENSE,
  name: "qwen3",
  architectures: ["qwen3", "qwen3moe"],
  read: (keys) => readDense(keys, { rope: { pairing: "halves" }, experts: { gating: "softmax", normalise: true } }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => layer.attend(layer.turned(layer.normed(layer.heads(input))))),
    ),
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
      title: "one layer",
      architecture: "qwen3moe",
      keys: {
        ...KEYS,
        block_count: 1,
        expert_count: 4,
        expert_used_count: 2,
        expert_feed_forward_length: 160,
        "rope.freq_base": 1000000,
      },
    },
  ],
});
