/**
 * DeepSeek 2, 3 and R1, Kimi K2, GLM-4.7-Flash, GigaChat 3, and Mistral 4, which is the same with another
 * magnitude of yarn: latent attention, and behind the first layers experts with shared ones beside.
 */
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import type { Gating } from "../experts.ts";
import type { HyperReader } from "../hyperReader.ts";
import { LATENT, latentAttention, readLatent, yarnMagnitudes } from "../latent.ts";
import type { LatentHyper } from "../latent.ts";
import { latentSampleOf, latentSamplesOf } from "../latentSamples.ts";

const EXPERTS = {
  leading_dense_block_count: 1,
  expert_count: 8,
  expert_used_count: 3,
  expert_feed_forward_length: 32,
  expert_shared_count: 1,
};
/** As in DeepSeek 3. */
const SIGMOID = {
  ...EXPERTS,
  expert_gating_func: 2,
  expert_group_count: 4,
  expert_group_used_count: 2,
  expert_weights_norm: true,
  expert_weights_scale: 2.5,
};
const YARN = {
  "rope.scaling.type": "yarn",
  "rope.scaling.factor": 4,
  "rope.scaling.original_context_length": 16,
};

const GLM_FLASH_VOCABULARY = 154_880;
const KANANA_VOCABULARY = 128_256;

export const deepseek2 = defineFamily<LatentHyper>({
  ...LATENT,
  name: "deepseek2",
  architectures: ["deepseek2", "mistral4"],
  read: (keys) => {
    const [vocabulary = 0] = keys.file.requireTensor("token_embd.weight").shape;
    const layers = keys.positive("block_count") - (keys.optionalCount("nextn_predict_layers") ?? 0);
    const h = readLatent(keys, {
      rope: { pairing: "adjacent" },
      queryRank: isLite(layers, vocabulary) ? "none" : "file",
      canAbsorb: true,
      experts: {
        gating: gatingOf(layers, vocabulary),
        reads: "gating and scale",
        normalise: "file",
        shared: { width: "count", gated: false },
      },
    });
    return {
      ...h,
      ...yarnMagnitudes(keys, h, keys.name === "deepseek2" ? "on scores" : "said"),
      temperature: temperatureOf(keys),
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x, d) => layer.preNorm(x, (input) => latentAttention(d, layer, h, input))),
  samples: [
    ...latentSamplesOf("deepseek2", { keys: SIGMOID, cache: "latents", optional: /exp_probs_b/u }),
    latentSampleOf("deepseek2", "an old file, keys and values kept, yarn", {
      keys: { ...EXPERTS, ...YARN, "rope.scaling.yarn_log_multiplier": 0.0707, expert_shared_count: 2 },
      cache: "heads",
      isFull: true,
    }),
    latentSampleOf("deepseek2", "one matrix for queries, yarn without its own magnitude", {
      keys: { ...EXPERTS, ...YARN, "attention.q_lora_rank": 0 },
      cache: "latents",
    }),
    latentSampleOf("deepseek2", "26 layers, no rank of queries, positions divided", {
      keys: {
        ...EXPERTS,
        block_count: 26,
        embedding_length: 32,
        "rope.scaling.type": "linear",
        "rope.scaling.factor": 2,
        "rope.scaling.attn_factor": 0.9,
      },
      hasNoQueryRank: true,
      cache: "heads",
    }),
    latentSampleOf("deepseek2", "temperature, yarn", {
      keys: {
        ...SIGMOID,
        ...YARN,
        "rope.scaling.yarn_log_multiplier": 0.1,
        "attention.temperature_scale": 0.1,
        "attention.temperature_length": 16,
      },
      cache: "latents",
    }),
    latentSampleOf("deepseek2", "a layer that guesses ahead", {
      keys: { ...SIGMOID, block_count: 3, nextn_predict_layers: 1, ...YARN, "rope.scaling.yarn_log_multiplier": 0.07 },
      cache: "latents",
      drafts: 1,
    }),
    ...latentSamplesOf("mistral4", {
      keys: {
        ...EXPERTS,
        ...YARN,
        "rope.scaling.yarn_log_multiplier": 0.1,
        "attention.temperature_scale": 0.1,
        "attention.temperature_length": 16,
        expert_weights_norm: true,
      },
      cache: "latents",
      optional: /ffn_gate_up_exps\.weight/u,
    }),
    latentSampleOf("mistral4", "another magnitude of yarn", {
      keys: { ...EXPERTS, ...YARN, "rope.scaling.yarn_log_multiplier": 0.05 },
      cache: "latents",
      isFull: true,
      optional: /ffn_gate_up_exps\.weight/u,
    }),
  ],
});

/** Small models have one matrix for queries, whatever their keys say: DeepSeek 2 Lite, GigaChat 3, Kanana 2. */
const isLite = (layers: number, vocabulary: number): boolean =>
  layers === 26 || layers === 27 || (layers === 48 && vocabulary === KANANA_VOCABULARY);

/** Of files without expert_gating_func. */
const gatingOf = (layers: number, vocabulary: number): Gating =>
  (layers === 47 || layers === 48) && vocabulary === GLM_FLASH_VOCABULARY ? "sigmoid" : "softmax";

function temperatureOf(keys: HyperReader): LatentHyper["temperature"] {
  const scale = keys.optionalNumber("attention.temperature_scale") ?? 0;
  if (scale === 0) return undefined;
  const each = keys.optionalCount("attention.temperature_length") ?? 0;
  if (each === 0) throw keys.badKey("attention.temperature_length", each, "more than 0");
  return { scale, offset: 0, each };
}
