/**
 * GPT-NeoX: q, k and v from one matrix, part of a head turned, gelu without a gate. Most files add
 * both branches to the same stream.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_epsilon": 1e-5, "rope.dimension_count": 8, use_parallel_residual: true };
const STYLE = {
  output: "own",
  always: /norm\.bias|attn_(qkv|output)\.bias|ffn_(up|down)\.bias|attn_qkv\.weight/u,
  equalHeads: true,
  ownKeys: true,
} as const;

export const gptneox = defineFamily({
  ...DENSE,
  name: "gptneox",
  architectures: ["gptneox"],
  read: (keys) => ({
    ...readDense(keys, { rope: { pairing: "halves" }, norm: "layer" }),
    isParallel: keys.isTrue("use_parallel_residual"),
  }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => layer.attend(layer.turned(layer.heads(input))));
      return layer.part("ffn", () => {
        const input = layer.norm(h.isParallel ? x : attended, "ffn_norm");
        return layer.add(attended, layer.feedForward(input, "gelu"));
      });
    }),
  samples: [
    ...samplesOf("gptneox", { keys: KEYS, ...STYLE }),
    sampleOf("gptneox", "one branch after the other", { keys: { ...KEYS, use_parallel_residual: false }, ...STYLE }),
  ],
});
