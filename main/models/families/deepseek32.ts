/**
 * DeepSeek 3.2 and GLM 5: latent attention, in which an indexer picks the `top_k` positions that a token sees.
 * The indexer is not computed: as long as there are no more positions than that it picks all of them, so the
 * context of such a model ends there.
 */
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import type { FamilySample } from "../family.ts";
import { LATENT, latentAttention, readLatent, yarnMagnitudes } from "../latent.ts";
import type { LatentHyper } from "../latent.ts";
import { latentSampleOf, latentSamplesOf } from "../latentSamples.ts";

interface IndexedHyper extends LatentHyper {
  /** Positions that the model was trained for; its context here ends where the indexer begins to choose. */
  readonly trained: number;
}

const KEYS = {
  leading_dense_block_count: 1,
  expert_count: 8,
  expert_used_count: 3,
  expert_feed_forward_length: 32,
  expert_shared_count: 1,
  expert_weights_norm: true,
  expert_weights_scale: 2.5,
  "attention.indexer.head_count": 4,
  "attention.indexer.key_length": 64,
  "attention.indexer.top_k": 128,
};
const YARN = {
  "rope.scaling.type": "yarn",
  "rope.scaling.factor": 4,
  "rope.scaling.original_context_length": 16,
};

/** The tensors of the indexers, which decide nothing in a short context. */
function indexers({ keys }: FamilySample): NonNullable<FamilySample["marks"]> {
  const width = Number(keys["embedding_length"]);
  const rank = Number(keys["attention.q_lora_rank"]);
  return Object.fromEntries(
    Array.from({ length: Number(keys["block_count"]) }, (_, layer) => `blk.${layer}.indexer`).flatMap((name) => [
      [`${name}.k_norm.weight`, [64]],
      [`${name}.k_norm.bias`, [64]],
      [`${name}.proj.weight`, [4, width]],
      [`${name}.attn_k.weight`, [64, width]],
      [`${name}.attn_q_b.weight`, [256, rank]],
    ]),
  );
}
const withIndexers = (sample: FamilySample): FamilySample => ({ ...sample, marks: indexers(sample) });

export const deepseek32 = defineFamily<IndexedHyper>({
  ...LATENT,
  name: "deepseek32",
  architectures: ["deepseek32", "glm-dsa"],
  read: (keys) => {
    const h = readLatent(keys, {
      rope: { pairing: "adjacent" },
      queryRank: "file",
      canAbsorb: true,
      experts: {
        gating: keys.name === "glm-dsa" ? "sigmoid" : "softmax",
        normalise: "file",
        shared: { width: "count", gated: false },
      },
    });
    if (!h.latent.isAbsorbed) throw keys.badKey("attention.key_length_mla", "none", "the size of a head");
    const context = Math.min(h.context, keys.positive("attention.indexer.top_k"));
    return { ...h, ...yarnMagnitudes(keys, h, false), context, trained: h.context };
  },
  isBeside: (tensor, h) => /^blk\.\d+\.indexer\./u.test(tensor) || LATENT.isBeside?.(tensor, h) === true,
  warnings: (h) =>
    h.trained === h.context
      ? []
      : [
          `Its context ends at ${h.context} of ${h.trained} positions: beyond, an indexer chooses what a token sees, which is not computed.`,
        ],
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x, d) => layer.preNorm(x, (input) => latentAttention(d, layer, h, input))),
  samples: [
    ...latentSamplesOf("deepseek32", {
      keys: { ...KEYS, expert_gating_func: 2, expert_group_count: 4, expert_group_used_count: 2 },
      cache: "latents",
      optional: /exp_probs_b/u,
    }),
    latentSampleOf("deepseek32", "yarn, softmax", {
      keys: { ...KEYS, ...YARN, expert_gating_func: 1, "rope.scaling.yarn_log_multiplier": 0.0707 },
      cache: "latents",
    }),
    ...latentSamplesOf("glm-dsa", { keys: KEYS, cache: "latents", optional: /exp_probs_b/u }),
  ].map(withIndexers),
});
