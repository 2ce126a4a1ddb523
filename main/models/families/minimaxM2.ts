/**
 * MiniMax-M2: q and k normed over their full width, part of a head turned, experts picked by sigmoid
 * and a bias.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

const KEYS = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  "rope.dimension_count": 8,
  expert_count: 6,
  expert_used_count: 2,
  expert_feed_forward_length: 32,
  expert_gating_func: 2,
};

export const minimaxM2 = defineFamily({
  ...DENSE,
  name: "minimaxM2",
  architectures: ["minimax-m2"],
  read: (keys) =>
    readDense(keys, {
      rope: { pairing: "halves" },
      experts: { gating: "sigmoid", reads: "gating", normalise: true, width: "feed_forward_length" },
    }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => layer.attend(layer.turned(layer.wideNormed(input)))),
    ),
  samples: samplesOf("minimax-m2", {
    keys: KEYS,
    output: "own",
    always: /exp_probs_b/u,
  }),
});
