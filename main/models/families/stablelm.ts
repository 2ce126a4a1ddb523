/**
 * StableLM: norms with biases, part of a head turned; heads normed one by one in some files, both
 * branches from one norm in others.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import type { Value } from "../../ir/graph.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_epsilon": 1e-5, "rope.dimension_count": 8, use_parallel_residual: true };

export const stablelm = defineFamily({
  ...DENSE,
  name: "stablelm",
  architectures: ["stablelm"],
  read: (keys) => readDense(keys, { rope: { pairing: "halves" }, norm: "layer" }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attention = (input: Value): Value =>
        layer.attend(layer.turned(layer.normedIfGiven(layer.heads(input), "each")));
      const feed = (input: Value): Value => layer.gatedFeedForward(input);
      return layer.has("ffn_norm.weight") ? layer.preNorm(x, attention, feed) : layer.parallel(x, attention, feed);
    }),
  samples: [
    ...samplesOf("stablelm", {
      keys: KEYS,
      output: "own",
      always: /norm\.bias|ffn_norm\.weight/u,
      optional: /attn_[qkv]\.bias|attn_[qk]_norm\.weight/u,
      equalHeads: true,
    }),
    sampleOf("stablelm", "both branches from one norm", {
      keys: KEYS,
      output: "own",
      always: /attn_norm\.bias|output_norm\.bias/u,
    }),
  ],
});
