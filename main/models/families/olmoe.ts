/** OLMoE: norms before the branches, q and k normed over their full width, experts in every layer. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const olmoe = defineFamily({
  ...DENSE,
  name: "olmoe",
  architectures: ["olmoe"],
  read: (keys) => readDense(keys, { rope: { pairing: "halves" }, experts: { gating: "softmax", normalise: false } }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => {
        const q = layer.rope(layer.projectNormed(input, "q"), "q");
        const k = layer.rope(layer.projectNormed(input, "k"), "k");
        return layer.attend(q, k, layer.project(input, "v"));
      });
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input));
    }),
  samples: samplesOf("olmoe", {
    keys: { "attention.layer_norm_rms_epsilon": 1e-5, expert_count: 6, expert_used_count: 2 },
    output: "own",
    equalHeads: true,
    ownKeys: true,
  }),
});
