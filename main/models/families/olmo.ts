/** OLMo 1: norms without weights; q, k and v may be kept within a limit. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_epsilon": 1e-5 };

export const olmo = defineFamily({
  ...DENSE,
  name: "olmo",
  architectures: ["olmo"],
  read: (keys) => {
    const clamp = keys.optionalNumber("attention.clamp_kqv") ?? 0;
    return {
      ...readDense(keys, { rope: { pairing: "adjacent" }, norm: "bare" }),
      clamp: clamp > 0 ? clamp : undefined,
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => layer.attend(layer.turned(layer.heads(input)))),
    ),
  samples: [
    ...samplesOf("olmo", { keys: KEYS, optional: /attn_[qkv]\.bias/u, equalHeads: true }),
    sampleOf("olmo", "q, k and v within a limit", { keys: { ...KEYS, "attention.clamp_kqv": 0.75 }, full: true }),
    sampleOf("olmo", "one matrix within a limit", {
      keys: { ...KEYS, "attention.clamp_kqv": 0.5 },
      always: /attn_qkv/u,
    }),
  ],
});
