/**
 * DeepSeek 3.2 and GLM 5: latent attention over the positions that an indexer picks for each token. In GLM 5.2 most
 * layers take the choice of a layer before them.
 */
import type { Value } from "../../ir/graph.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import type { SampleKeys } from "../family.ts";
import type { HyperReader } from "../hyperReader.ts";
import type { Indexer } from "../indexer.ts";
import { indexerBias, readIndexer } from "../indexer.ts";
import { LATENT, latentAttention, readLatent, yarnMagnitudes } from "../latent.ts";
import type { LatentHyper } from "../latent.ts";
import { latentSampleOf, latentSamplesOf } from "../latentSamples.ts";

interface IndexedHyper extends LatentHyper {
  readonly indexer: Indexer;
}

/** GLM 5.2 names no layers; it is known by its context. */
const GLM_52_CONTEXT = 1_048_576;
const chooses = (keys: HyperReader): ((layer: number) => boolean) =>
  keys.name === "glm-dsa" && keys.positive("context_length") >= GLM_52_CONTEXT
    ? (layer) => layer < 2 || layer % 4 === 2
    : () => true;

const KEYS: SampleKeys = {
  leading_dense_block_count: 1,
  expert_count: 8,
  expert_used_count: 3,
  expert_feed_forward_length: 32,
  expert_shared_count: 1,
  expert_weights_norm: true,
  expert_weights_scale: 2.5,
  "attention.indexer.head_count": 16,
  "attention.indexer.key_length": 64,
  "attention.indexer.top_k": 8,
};
const YARN: SampleKeys = {
  "rope.scaling.type": "yarn",
  "rope.scaling.factor": 4,
  "rope.scaling.original_context_length": 16,
};

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
        reads: "gating and scale",
        normalise: "file",
        shared: { width: "count", gated: false },
      },
    });
    const { isAbsorbed, queryRank, turning } = h.latent;
    if (!isAbsorbed) throw keys.badKey("attention.key_length_mla", "none", "the size of a head");
    if (queryRank === 0) throw keys.badKey("attention.q_lora_rank", "none", "more than 0");
    const pairing = keys.name === "glm-dsa" ? "adjacent" : "halves";
    const indexer = readIndexer(keys, { pairing, turning, chooses: chooses(keys) });
    return { ...h, ...yarnMagnitudes(keys, h, keys.name === "glm-dsa" ? "unsaid" : "said"), indexer };
  },
  sizes: (h) => {
    const { cache, ...sizes } = LATENT.sizes(h);
    const { size, chooses } = h.indexer;
    const choosing = Array.from({ length: h.layers }, (_, layer) => chooses(layer)).filter(Boolean).length;
    const product = `${cache.product} + ${choosing} ${choosing === 1 ? "layer" : "layers"} × ${size}`;
    return { ...sizes, cache: { elements: cache.elements + choosing * size, product } };
  },
  facts: (h) => [
    ...LATENT.facts(h),
    { label: "indexer", value: `${h.indexer.heads} heads of ${h.indexer.size}, ${h.indexer.topK} positions are seen` },
  ],
  graph: (h, weights, options) => {
    let bias: Value | undefined;
    return denseGraph(h, weights, options, (layer, x, d) =>
      layer.preNorm(x, (rows) =>
        latentAttention(d, layer, h, rows, (input, queryLatent) =>
          bias === undefined || h.indexer.chooses(layer.index)
            ? (bias = indexerBias(d, layer, h.indexer, { input, queryLatent }))
            : bias,
        ),
      ),
    );
  },
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
    latentSampleOf("glm-dsa", "two heads of the indexer, many equal scores", {
      keys: { ...KEYS, "attention.indexer.head_count": 2, "attention.indexer.top_k": 11 },
      cache: "latents",
      isFull: true,
    }),
    latentSampleOf("glm-dsa", "the context of 5.2", {
      keys: { ...KEYS, block_count: 7, context_length: GLM_52_CONTEXT, "attention.indexer.top_k": 13 },
      cache: "latents",
    }),
    latentSampleOf("glm-dsa", "two layers of five choose", {
      keys: {
        ...KEYS,
        block_count: 5,
        "attention.indexer.types": [1, 0, 0, 1, 0],
        "attention.indexer.key_length": 128,
      },
      cache: "latents",
    }),
    latentSampleOf("glm-dsa", "more positions than the text has", {
      keys: { ...KEYS, "attention.indexer.top_k": 512, "attention.indexer.head_count": 3 },
      cache: "latents",
    }),
  ],
});
