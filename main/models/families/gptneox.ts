/** GPT-NeoX: q, k and v from one matrix, part of a head turned, gelu without a gate; most files add both branches to the same stream. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

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
      const attended = layer.part("attention", () => {
        const { q, k, v } = layer.turned(layer.heads(layer.norm(x, "attn_norm")));
        return layer.add(x, layer.attend(q, k, v));
      });
      return layer.part("ffn", () => {
        const input = layer.norm(h.isParallel ? x : attended, "ffn_norm");
        return layer.add(attended, layer.feedForward(input, "gelu"));
      });
    }),
  samples: [
    ...samplesOf("gptneox", {
      keys: { "attention.layer_norm_epsilon": 1e-5, "rope.dimension_count": 8, use_parallel_residual: true },
      output: "own",
      always: /norm\.bias|attn_(qkv|output)\.bias|ffn_(up|down)\.bias|attn_qkv\.weight/u,
      equalHeads: true,
      ownKeys: true,
    }),
    ...samplesOf("gptneox", {
      keys: { "attention.layer_norm_epsilon": 1e-5, "rope.dimension_count": 8, use_parallel_residual: false },
      output: "own",
      always: /norm\.bias|attn_(qkv|output)\.bias|ffn_(up|down)\.bias|attn_qkv\.weight/u,
      equalHeads: true,
      ownKeys: true,
    })
      .slice(0, 1)
      .map((sample) => ({ ...sample, title: "one branch after the other" })),
  ],
});
