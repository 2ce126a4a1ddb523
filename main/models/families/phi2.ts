/** Phi-2: one norm for both branches, biases everywhere, part of a head turned, gelu without a gate. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const phi2 = defineFamily({
  ...DENSE,
  name: "phi2",
  architectures: ["phi2"],
  read: (keys) => readDense(keys, { rope: { pairing: "halves" }, norm: "layer" }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const input = layer.norm(x, "attn_norm");
      const attended = layer.part("attention", () => {
        const { q, k, v } = layer.turned(layer.heads(input));
        return layer.add(x, layer.attend(q, k, v));
      });
      return layer.part("ffn", () => layer.add(attended, layer.feedForward(input, "gelu")));
    }),
  samples: samplesOf("phi2", {
    keys: { "attention.layer_norm_epsilon": 1e-5, "rope.dimension_count": 8 },
    output: "own",
    always: /\.bias/u,
    optional: /attn_qkv\.weight/u,
    equalHeads: true,
    ownKeys: true,
  }),
});
