/**
 * Kimi Linear: layers without key heads have a delta net that forgets channel by channel, the others latent
 * attention in which nothing turns. Behind the first layers there are experts with shared ones beside.
 */
import type { ChannelDelta } from "../channelDelta.ts";
import { channelDelta, channelDeltaFact, channelDeltaStates, readChannelDelta } from "../channelDelta.ts";
import { mixedSentence, mixedSizes } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import type { FamilySample, SampleKeys } from "../family.ts";
import { defineFamily } from "../family.ts";
import { LATENT, latentAttention, readLatent } from "../latent.ts";
import type { LatentHyper } from "../latent.ts";
import { latentSampleOf } from "../latentSamples.ts";

interface KimiHyper extends LatentHyper {
  readonly net: ChannelDelta;
}

const KEYS: SampleKeys = {
  "ssm.conv_kernel": 4,
  "kda.head_dim": 16,
  leading_dense_block_count: 1,
  expert_count: 8,
  expert_used_count: 3,
  expert_feed_forward_length: 32,
  expert_shared_count: 1,
  expert_gating_func: 2,
  expert_weights_scale: 2.446,
};

/** `attends`: 1 for the layers with attention. */
function hybrid(title: string, attends: readonly (0 | 1)[], keys: SampleKeys, isFull = false): FamilySample {
  const sample = latentSampleOf("kimi-linear", title, {
    keys: { ...KEYS, ...keys, block_count: attends.length, "attention.head_count_kv": attends },
    cache: "latents",
    hasNoQueryRank: true,
    isFull,
  });
  return { ...sample, untied: true, has: /exp_probs_b/u };
}

export const kimiLinear = defineFamily<KimiHyper>({
  ...LATENT,
  name: "kimiLinear",
  architectures: ["kimi-linear"],
  read: (keys) => {
    const h = readLatent(keys, {
      rope: { pairing: "adjacent" },
      queryRank: "none",
      canAbsorb: true,
      attention: "where keys",
      experts: {
        gating: "sigmoid",
        reads: "gating and scale",
        normalise: true,
        shared: { width: "count", gated: false },
      },
    });
    // llama.cpp joins the parts of kept keys in another order than those of queries.
    if (!h.latent.isAbsorbed) throw keys.badKey("attention.key_length_mla", "none", "the size of a head");
    return { ...h, rope: { ...h.rope, dims: 0 }, net: readChannelDelta(keys, h.heads) };
  },
  sizes: (h) => ({ ...mixedSizes(h, ...channelDeltaStates(h.net)), cache: LATENT.sizes(h).cache }),
  sentence: (h) => mixedSentence(h, "a delta net"),
  facts: (h) => [...LATENT.facts(h), { label: "delta net", value: channelDeltaFact(h.net) }],
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x, d) =>
      layer.preNorm(x, (input) =>
        h.attends?.(layer.index) === false
          ? channelDelta(layer.place, input, h.net)
          : latentAttention(d, layer, h, input),
      ),
    ),
  samples: [
    hybrid("small", [0, 1], {}),
    hybrid(
      "every fourth layer attends, other heads, three taps",
      [0, 0, 0, 1, 0],
      { "kda.head_dim": 32, "ssm.conv_kernel": 3, expert_shared_count: 2 },
      true,
    ),
    hybrid("dense layers alone", [0, 1, 0], {
      "kda.head_dim": 24,
      leading_dense_block_count: 3,
    }),
    hybrid("attention first, odd sizes, no dense layer", [1, 0, 0], {
      embedding_length: 60,
      "attention.head_count": 3,
      "kda.head_dim": 10,
      "ssm.conv_kernel": 2,
      leading_dense_block_count: 0,
      expert_weights_scale: 1,
    }),
    hybrid("two of five attend, one head", [0, 1, 0, 0, 1], {
      "kda.head_dim": 12,
      "attention.head_count": 1,
      expert_used_count: 2,
    }),
  ],
});
