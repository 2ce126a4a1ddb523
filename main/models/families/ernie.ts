/**
 * ERNIE 4.5: a llama; in the mixtures every so many layers have experts, picked with a bias, and a
 * shared one. llama.cpp reads a bias of attn_output and adds none, which stays so here.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_rms_epsilon": 1e-5 };

const EXPERTS = {
  ...KEYS,
  block_count: 3,
  leading_dense_block_count: 1,
  interleave_moe_layer_step: 1,
  expert_count: 5,
  expert_used_count: 2,
  expert_feed_forward_length: 32,
  expert_shared_feed_forward_length: 32,
};

export const ernie = defineFamily({
  ...DENSE,
  name: "ernie",
  architectures: ["ernie4_5", "ernie4_5-moe"],
  read: (keys) => ({
    ...readDense(keys, {
      rope: { pairing: "adjacent" },
      experts: { gating: "softmax", normalise: true, shared: { width: "key", gated: false } },
    }),
    outputBias: false,
  }),
  isBeside: (tensor, h) => DENSE.isBeside?.(tensor, h) === true || tensor.endsWith("attn_output.bias"),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => layer.attend(layer.turned(layer.heads(input)))),
    ),
  samples: [
    ...samplesOf("ernie4_5", { keys: KEYS, optional: /attn_[qkv]\.bias/u }),
    ...samplesOf("ernie4_5-moe", { keys: EXPERTS, optional: /exp_probs_b|attn_[qkv]\.bias/u }),
    sampleOf("ernie4_5-moe", "no shared expert", { keys: { ...EXPERTS, expert_shared_feed_forward_length: 0 } }),
  ],
});
