/** StableLM: norms with biases, part of a head turned, heads normed one by one in some files, both branches from one norm in others. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const stablelm = defineFamily({
  ...DENSE,
  name: "stablelm",
  architectures: ["stablelm"],
  read: (keys) => readDense(keys, { rope: { pairing: "halves" }, norm: "layer" }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const isParallel = !layer.has("ffn_norm.weight");
      const input = layer.norm(x, "attn_norm");
      const attended = layer.part("attention", () => {
        const { q, k, v } = layer.heads(input);
        const isNormed = layer.has("attn_q_norm.weight");
        const normed = isNormed ? { q: layer.headNorm(q, "q", true), k: layer.headNorm(k, "k", true), v } : { q, k, v };
        const turned = layer.turned(normed);
        return layer.add(x, layer.attend(turned.q, turned.k, v));
      });
      return layer.part("ffn", () => {
        const fed = layer.gatedFeedForward(isParallel ? input : layer.norm(attended, "ffn_norm"));
        return layer.add(attended, fed);
      });
    }),
  samples: [
    ...samplesOf("stablelm", {
      keys: { "attention.layer_norm_epsilon": 1e-5, "rope.dimension_count": 8, use_parallel_residual: true },
      output: "own",
      always: /norm\.bias|ffn_norm\.weight/u,
      optional: /attn_[qkv]\.bias|attn_[qk]_norm\.weight/u,
      equalHeads: true,
    }),
    ...samplesOf("stablelm", {
      keys: { "attention.layer_norm_epsilon": 1e-5, "rope.dimension_count": 8, use_parallel_residual: true },
      output: "own",
      always: /attn_norm\.bias|output_norm\.bias/u,
      equalHeads: true,
    })
      .slice(0, 1)
      .map((sample) => ({ ...sample, title: "both branches from one norm" })),
  ],
});
