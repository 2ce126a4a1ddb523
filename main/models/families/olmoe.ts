/** OLMoE: norms before the branches, q and k normed over their full width, experts in every layer. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_rms_epsilon": 1e-5, expert_count: 6, expert_used_count: 2 };

export const olmoe = defineFamily({
  ...DENSE,
  name: "olmoe",
  architectures: ["olmoe"],
  read: (keys) => readDense(keys, { rope: { pairing: "halves" }, experts: { gating: "softmax", normalise: false } }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => layer.attend(layer.turned(layer.wideNormed(input)))),
    ),
  samples: samplesOf("olmoe", { keys: KEYS, output: "own", equalHeads: true, ownKeys: true }),
});
