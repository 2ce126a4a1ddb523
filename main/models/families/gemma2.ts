/** Gemma 2: as Gemma, with a norm behind each branch, soft caps on scores and logits, and a window in every other layer. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const gemma2 = defineFamily({
  ...DENSE,
  name: "gemma2",
  architectures: ["gemma2"],
  read: (keys) => {
    const h = readDense(keys, { rope: { pairing: "halves" } });
    const isLargest = h.layers === 46;
    return {
      ...h,
      window: keys.optionalCount("attention.sliding_window") ?? 4096,
      unusedWindow: 0,
      attentionCap: keys.optionalNumber("attn_logit_softcapping") ?? 50,
      attentionScale: 1 / Math.sqrt(isLargest ? h.width / h.heads : h.headDim),
      scales: { embedding: Math.sqrt(h.width), logitCap: keys.optionalNumber("final_logit_softcapping") ?? 30 },
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const window = layer.index % 2 === 0 ? h.window : undefined;
      const attended = layer.part("attention", () => {
        const { q, k, v } = layer.turned(layer.heads(layer.norm(x, "attn_norm")));
        const mixed = layer.attend(q, k, v, { window, softcap: h.attentionCap });
        return layer.add(x, layer.norm(mixed, "post_attention_norm"));
      });
      return layer.part("ffn", () => {
        const fed = layer.gatedFeedForward(layer.norm(attended, "ffn_norm"), "gelu");
        return layer.add(attended, layer.norm(fed, "post_ffw_norm"));
      });
    }),
  samples: samplesOf("gemma2", {
    keys: {
      "attention.layer_norm_rms_epsilon": 1e-6,
      "attention.sliding_window": 16,
      attn_logit_softcapping: 5,
      final_logit_softcapping: 4,
    },
    output: "tied",
  }),
});
