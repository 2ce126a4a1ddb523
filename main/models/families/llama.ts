/**
 * Llama 2 and 3, Mistral and their kin: rope on neighbouring pairs (the converter permuted q and k
 * for it), no head norms.
 */
import type { Value } from "../../ir/graph.ts";
import { DENSE, readDense } from "../dense.ts";
import type { DenseLayer } from "../denseBlocks.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { SMALL_KEYS } from "../samples.ts";

const KEYS = { ...SMALL_KEYS, "attention.layer_norm_rms_epsilon": 1.5e-5 };

export const llamaBlock = (layer: DenseLayer, x: Value): Value =>
  layer.preNorm(x, (input) => layer.attend(layer.turned(layer.heads(input))));

export const llama = defineFamily({
  ...DENSE,
  name: "llama",
  architectures: ["llama"],
  read: (keys) =>
    readDense(keys, {
      rope: { pairing: "adjacent", factors: "rope_freqs.weight", hasLongFactors: true },
      experts: { gating: "softmax", normalise: true },
    }),
  graph: (h, weights, options) => denseGraph(h, weights, options, llamaBlock),
  samples: [
    {
      title: "products with scales, divisors of rope",
      architecture: "llama",
      keys: KEYS,
      has: /attn_(q|k|v|output)\.(scale|bias)|ffn_(gate|up|down)\.scale/u,
      marks: { "rope_freqs.weight": [8] },
    },
    {
      title: "biases",
      architecture: "llama",
      keys: { ...KEYS, "attention.head_count_kv": 3 },
      untied: true,
      has: /attn_(q|k|v|output)\.bias|ffn_(gate|up|down)\.bias/u,
    },
    {
      title: "one matrix for q, k and v",
      architecture: "llama",
      keys: KEYS,
      untied: true,
      has: /attn_qkv\.(weight|scale|bias)/u,
    },
    {
      title: "eight experts",
      architecture: "llama",
      keys: { ...KEYS, expert_count: 8, expert_used_count: 2 },
    },
    {
      title: "odd sizes, own output",
      architecture: "llama",
      untied: true,
      keys: {
        ...KEYS,
        block_count: 3,
        feed_forward_length: 160,
        "attention.head_count": 4,
        "attention.head_count_kv": 1,
        "attention.key_length": 32,
        "attention.value_length": 32,
        "rope.dimension_count": 32,
        expert_count: 5,
        expert_used_count: 3,
        "rope.freq_base": 50000,
      },
    },
    {
      title: "one expert is picked",
      architecture: "llama",
      untied: true,
      keys: { ...KEYS, expert_count: 3, expert_used_count: 1 },
    },
    {
      title: "all experts",
      architecture: "llama",
      keys: { ...KEYS, expert_count: 2, expert_used_count: 2, "attention.head_count_kv": 6 },
    },
  ],
});
