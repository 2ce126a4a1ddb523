/**
 * Phi-3, 3.5 and 4, and Phi-MoE: q, k and v from one matrix, gate and up from one, part of a head
 * turned; long contexts turn by divisors of their own.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_rms_epsilon": 1e-5, "rope.dimension_count": 12 };
const LONG = {
  ...KEYS,
  "rope.scaling.original_context_length": 32,
  "rope.scaling.attn_factor": 1.19,
};
const EXPERTS = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  expert_count: 5,
  expert_used_count: 2,
};
const BIASES = /norm\.bias|attn_output\.bias|^output\.bias/u;
const factors = (size: number): Record<string, readonly number[]> => ({
  "rope_factors_long.weight": [size],
  "rope_factors_short.weight": [size],
});

export const phi3 = defineFamily({
  ...DENSE,
  name: "phi3",
  architectures: ["phi3", "phimoe"],
  read: (keys) => ({
    ...readDense(keys, {
      rope: { pairing: "halves", hasLongFactors: true },
      experts: { gating: "softmax", normalise: true, width: "feed_forward_length" },
    }),
    fusedGate: keys.name === "phi3",
  }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => layer.attend(layer.turned(layer.heads(input)))),
    ),
  samples: [
    ...samplesOf("phi3", { keys: KEYS, optional: /attn_qkv\.weight/u, equalHeads: true }),
    sampleOf("phi3", "divisors of a long context", { keys: LONG, marks: factors(6), always: /attn_qkv\.weight/u }),
    sampleOf("phi3", "divisors of a short context", {
      keys: { ...LONG, "rope.scaling.original_context_length": 4096 },
      marks: factors(6),
      always: /attn_qkv\.weight/u,
    }),
    ...samplesOf("phimoe", {
      keys: EXPERTS,
      output: "own",
      always: BIASES,
      optional: /attn_[qkv]\.bias/u,
      equalHeads: true,
    }),
    sampleOf("phimoe", "divisors of a long context", {
      keys: { ...EXPERTS, "rope.scaling.original_context_length": 32, "rope.scaling.attn_factor": 1.19 },
      output: "own",
      marks: factors(8),
      always: BIASES,
    }),
  ],
});
