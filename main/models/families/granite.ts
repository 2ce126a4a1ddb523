/** Granite 3 and 4: a llama with four factors: embedding, residual, attention scores, logits; perhaps without rope, perhaps with experts. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

const FACTORS = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  embedding_scale: 12,
  residual_scale: 0.22,
  "attention.scale": 0.0625,
  logit_scale: 6,
};

export const granite = defineFamily({
  ...DENSE,
  name: "granite",
  architectures: ["granite", "granitemoe"],
  read: (keys) => {
    const experts = { gating: "softmax", normalise: true, shared: { width: "key", gated: false } } as const;
    const h = readDense(keys, { rope: { pairing: "adjacent" }, experts });
    return {
      ...h,
      // Files of the fourth generation say so when positions are not turned.
      turns: !keys.isFalse("rope.scaling.finetuned"),
      attentionScale: keys.optionalNumber("attention.scale"),
      scales: {
        embedding: keys.optionalNumber("embedding_scale") ?? 1,
        residual: keys.optionalNumber("residual_scale") ?? 1,
        logits: 1 / (keys.optionalNumber("logit_scale") ?? 1),
      },
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => {
        const heads = layer.heads(input);
        const { q, k, v } = h.turns ? layer.turned(heads) : heads;
        return layer.attend(q, k, v);
      });
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input));
    }),
  samples: [
    ...samplesOf("granite", { keys: FACTORS }),
    ...samplesOf("granite", { keys: { ...FACTORS, "rope.scaling.finetuned": false } })
      .slice(0, 1)
      .map((sample) => ({ ...sample, title: "without rope" })),
    ...samplesOf("granitemoe", {
      keys: { ...FACTORS, expert_count: 6, expert_used_count: 2, expert_shared_feed_forward_length: 96 },
    }),
    ...samplesOf("granitemoe", { keys: { ...FACTORS, expert_count: 5, expert_used_count: 3 } })
      .slice(1, 2)
      .map((sample) => ({ ...sample, title: "no shared expert" })),
  ],
});
