/**
 * Granite 3 and 4: a llama with four factors: embedding, residual, attention scores, logits; perhaps
 * without rope, perhaps with experts.
 */
import type { DenseHyper } from "../dense.ts";
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import type { HyperReader } from "../hyperReader.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const FACTORS = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  embedding_scale: 12,
  residual_scale: 0.22,
  "attention.scale": 0.0625,
  logit_scale: 6,
};
const BIASES = /attn_(q|k|v|output)\.bias|ffn_(gate|up|down)\.bias/u;

/** The four factors, and whether positions are turned. */
export function graniteFactors(keys: HyperReader): Pick<DenseHyper, "attentionScale" | "scales"> & {
  /** Files of the fourth generation say so when positions are not turned. */
  readonly turns: boolean;
} {
  const factor = (key: string): number => keys.optionalNumber(key) || 1;
  const attentionScale = keys.optionalNumber("attention.scale") ?? 0;
  return {
    // The mixtures turn theirs, whatever the file says.
    turns: keys.name === "granitemoe" || !keys.isFalse("rope.scaling.finetuned"),
    attentionScale: attentionScale === 0 ? undefined : attentionScale,
    scales: {
      embedding: factor("embedding_scale"),
      residual: factor("residual_scale"),
      logits: 1 / factor("logit_scale"),
    },
  };
}

export const granite = defineFamily({
  ...DENSE,
  name: "granite",
  architectures: ["granite", "granitemoe"],
  read: (keys) => {
    const experts = { gating: "softmax", normalise: true, shared: { width: "key", gated: false } } as const;
    return {
      ...readDense(keys, {
        rope: { pairing: "adjacent", factors: "rope_freqs.weight", hasLongFactors: true },
        experts,
      }),
      ...graniteFactors(keys),
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => {
        const heads = layer.heads(input);
        return layer.attend(h.turns ? layer.turned(heads) : heads);
      }),
    ),
  samples: [
    ...samplesOf("granite", { keys: FACTORS, optional: BIASES }),
    sampleOf("granite", "without rope", { keys: { ...FACTORS, "rope.scaling.finetuned": false } }),
    sampleOf("granite", "factors of rope, no other factors", {
      keys: { "attention.layer_norm_rms_epsilon": 1e-5, logit_scale: 2 },
      marks: { "rope_freqs.weight": [8] },
    }),
    ...samplesOf("granitemoe", {
      keys: { ...FACTORS, expert_count: 6, expert_used_count: 2, expert_shared_feed_forward_length: 96 },
    }),
    sampleOf("granitemoe", "no shared expert", {
      keys: { ...FACTORS, expert_count: 5, expert_used_count: 3 },
      full: true,
    }),
  ],
});
