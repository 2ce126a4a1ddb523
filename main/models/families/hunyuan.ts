/** Hunyuan: heads turned before they are normed; experts with a shared one in the mixtures. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_rms_epsilon": 1e-5 };

const EXPERTS = { ...KEYS, expert_count: 5, expert_used_count: 2, expert_feed_forward_length: 32 };

const STYLE = { optional: /attn_[qkv]\.bias/u };

export const hunyuan = defineFamily({
  ...DENSE,
  name: "hunyuan",
  architectures: ["hunyuan-dense", "hunyuan-moe"],
  read: (keys) => {
    const h = readDense(keys, {
      rope: { pairing: "halves" },
      experts: {
        gating: "softmax",
        normalise: true,
        width: "feed_forward_length",
        shared: { width: "key or feed_forward_length", gated: false },
      },
    });
    // A longer context raises the base.
    const alpha = keys.name === "hunyuan-dense" ? (keys.optionalNumber("rope.scaling.alpha") ?? 0) : 0;
    const base = alpha > 0 ? h.rope.base * alpha ** (h.headDim / (h.headDim - 2)) : h.rope.base;
    return { ...h, rope: { ...h.rope, base } };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => layer.attend(layer.normed(layer.turned(layer.heads(input))))),
    ),
  samples: [
    ...samplesOf("hunyuan-dense", { keys: KEYS, ...STYLE }),
    sampleOf("hunyuan-dense", "a base raised by alpha", {
      keys: { ...KEYS, "rope.scaling.alpha": 1000 },
    }),
    ...samplesOf("hunyuan-moe", { keys: EXPERTS, ...STYLE }),
    sampleOf("hunyuan-moe", "a narrow shared expert", {
      keys: { ...EXPERTS, expert_shared_feed_forward_length: 32 },
    }),
  ],
});
