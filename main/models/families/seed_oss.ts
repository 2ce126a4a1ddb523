/** Seed-OSS: biases on q, k and v; the norm before the feed-forward is called post_attention_norm. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_rms_epsilon": 1e-5 };

export const seed_oss = defineFamily({
  ...DENSE,
  name: "seed_oss",
  architectures: ["seed_oss"],
  read: (keys) => readDense(keys, { rope: { pairing: "halves" } }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => layer.attend(layer.turned(layer.heads(input))));
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input), "post_attention_norm");
    }),
  samples: samplesOf("seed_oss", { keys: KEYS, optional: /attn_[qkv]\.bias/u }),
});
