/** GPT-2: learned positions, q, k and v from one matrix, biases everywhere, gelu without a gate. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_epsilon": 1e-5 };

export const gpt2 = defineFamily({
  ...DENSE,
  name: "gpt2",
  architectures: ["gpt2"],
  read: (keys) => {
    const h = readDense(keys, { rope: { pairing: "halves" }, norm: "layer" });
    return { ...h, rope: { ...h.rope, dims: 0 } };
  },
  graph: (h, weights, options) =>
    denseGraph(
      h,
      weights,
      options,
      (layer, x) =>
        layer.preNorm(
          x,
          (input) => layer.attend(layer.heads(input)),
          (input) => layer.feedForward(input, "gelu"),
        ),
      (d, x) => d.withPositions(x),
    ),
  samples: samplesOf("gpt2", {
    keys: KEYS,
    always: /^blk.*bias|norm\.bias|attn_qkv\.weight/u,
    equalHeads: true,
    ownKeys: true,
  }),
});
