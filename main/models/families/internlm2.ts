/** InternLM2: a llama. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_rms_epsilon": 1e-5 };

export const internlm2 = defineFamily({
  ...DENSE,
  name: "internlm2",
  architectures: ["internlm2"],
  read: (keys) => readDense(keys, { rope: { pairing: "adjacent" } }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => layer.attend(layer.turned(layer.heads(input)))),
    ),
  samples: samplesOf("internlm2", {
    keys: KEYS,
    output: "own",
    optional: /attn_[qkv]\.bias/u,
    equalHeads: true,
  }),
});
