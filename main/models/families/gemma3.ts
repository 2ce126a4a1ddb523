/** Gemma 3: as Gemma 2 with normed heads and no cap on scores; five layers of six have a window and a rope of their own. */
import { DENSE, readDense } from "../dense.ts";
import type { DenseHyper } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import type { Rope } from "../rope.ts";
import { samplesOf } from "../samples.ts";

interface Gemma3Hyper extends DenseHyper {
  /** Of the layers with a window. */
  readonly localRope: Rope;
}

export const gemma3 = defineFamily<Gemma3Hyper>({
  ...DENSE,
  name: "gemma3",
  architectures: ["gemma3"],
  read: (keys) => {
    const h = readDense(keys, { rope: { pairing: "halves" } });
    const isLargest = h.layers === 62;
    const logitCap = keys.optionalNumber("final_logit_softcapping");
    return {
      ...h,
      window: keys.optionalCount("attention.sliding_window"),
      unusedWindow: 0,
      attentionScale: 1 / Math.sqrt(isLargest ? h.width / h.heads : h.headDim),
      scales: { embedding: Math.sqrt(h.width), ...(logitCap !== undefined && { logitCap }) },
      localRope: {
        ...h.rope,
        base: keys.optionalNumber("rope.freq_base_swa") ?? 10_000,
        scaling: { kind: "none" },
        attentionFactor: 1,
      },
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const isLocal = h.window !== undefined && layer.index % 6 < 5;
      const attended = layer.part("attention", () => {
        const { q, k, v } = layer.heads(layer.norm(x, "attn_norm"));
        const rope = isLocal ? h.localRope : h.rope;
        const turned = layer.turned({ q: layer.headNorm(q, "q"), k: layer.headNorm(k, "k"), v }, rope);
        const mixed = layer.attend(turned.q, turned.k, v, { window: isLocal ? h.window : undefined });
        return layer.add(x, layer.norm(mixed, "post_attention_norm"));
      });
      return layer.part("ffn", () => {
        const fed = layer.gatedFeedForward(layer.norm(attended, "ffn_norm"), "gelu");
        return layer.add(attended, layer.norm(fed, "post_ffw_norm"));
      });
    }),
  samples: [
    ...samplesOf("gemma3", {
      keys: {
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.sliding_window": 16,
        "rope.freq_base": 1_000_000,
        "rope.scaling.type": "linear",
        "rope.scaling.factor": 8,
      },
    }),
    ...samplesOf("gemma3", {
      keys: {
        block_count: 7,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.sliding_window": 24,
        final_logit_softcapping: 6,
      },
    })
      .slice(0, 1)
      .map((sample) => ({ ...sample, title: "seven layers, one of them sees all" })),
  ],
});
