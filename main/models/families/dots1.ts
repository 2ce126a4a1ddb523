/**
 * dots.llm1: heads normed before they turn; behind the first layers experts, picked by sigmoid and a
 * bias, with shared ones.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { SIGMOID_EXPERTS } from "../experts.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

const KEYS = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  block_count: 3,
  leading_dense_block_count: 1,
  expert_count: 6,
  expert_used_count: 2,
  expert_feed_forward_length: 32,
  expert_shared_count: 2,
  expert_gating_func: 2,
  expert_weights_norm: true,
  expert_weights_scale: 2.5,
};

export const dots1 = defineFamily({
  ...DENSE,
  name: "dots1",
  architectures: ["dots1"],
  read: (keys) =>
    readDense(keys, {
      rope: { pairing: "halves" },
      experts: SIGMOID_EXPERTS,
    }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => layer.attend(layer.turned(layer.normed(layer.heads(input))))),
    ),
  samples: samplesOf("dots1", { keys: KEYS, output: "own", optional: /exp_probs_b|attn_[qkv]\.bias/u, ownKeys: true }),
});
