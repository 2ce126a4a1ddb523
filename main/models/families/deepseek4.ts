/**
 * DeepSeek 4: several streams instead of one, attention over a window and over compressed blocks, and experts in
 * every layer, which a table of tokens picks in the first ones.
 */
import { DENSE, readDense } from "../dense.ts";
import type { DenseHyper } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import type { Compression } from "../compressedAttention.ts";
import { BlockAngles, compressedAttention, compressionHeld } from "../compressedAttention.ts";
import type { Limits } from "../experts.ts";
import type { CacheSize, FamilySample, SampleKeys } from "../family.ts";
import { defineFamily } from "../family.ts";
import type { HyperConnections } from "../hyperConnections.ts";
import { asStreams, connected, joined, readHyperConnections } from "../hyperConnections.ts";
import type { HyperReader } from "../hyperReader.ts";
import type { Rope } from "../rope.ts";

interface StreamHyper extends DenseHyper {
  readonly compression: Compression;
  readonly connections: HyperConnections;
}

const RATIOS: readonly number[] = [0, 4, 128];

function readCompression(keys: HyperReader, h: DenseHyper): Compression {
  const { heads, headDim, layers, draftLayers = 0 } = h;
  const ratios = keys.perLayer("attention.compress_ratios", layers + draftLayers);
  for (const ratio of ratios)
    if (!RATIOS.includes(ratio)) throw keys.badKey("attention.compress_ratios", ratio, "0, 4 or 128");
  const groups = keys.positive("attention.output_group_count");
  if (heads % groups !== 0) throw keys.badKey("attention.output_group_count", groups, `a divisor of ${heads} heads`);
  const turning = h.rope.dims;
  const size = keys.positive("attention.indexer.key_length");
  if (size < turning) throw keys.badKey("attention.indexer.key_length", size, `at least the ${turning} that turn`);
  const base = keys.number("attention.compress_rope_freq_base");
  if (!(base > 0) || !Number.isFinite(base))
    throw keys.badKey("attention.compress_rope_freq_base", base, "more than 0");
  // Turning leaves magnitudes as they are, also with yarn.
  const blocks: Rope = { ...h.rope, base, attentionFactor: 1 };
  return {
    heads,
    headDim,
    queryRank: keys.positive("attention.q_lora_rank"),
    turning,
    window: keys.positive("attention.sliding_window"),
    ratioOf: (layer) => ratios[layer] ?? 0,
    ropes: { window: { ...h.rope, scaling: { kind: "none" }, attentionFactor: 1 }, blocks },
    indexer: {
      heads: keys.positive("attention.indexer.head_count"),
      size,
      topK: keys.positive("attention.indexer.top_k"),
    },
    output: { groups, rank: keys.positive("attention.output_lora_rank") },
  };
}

/** Limits of less than a millionth are none; shared networks have the experts' where the file has none for them. */
function readLimits(keys: HyperReader, layers: number): (layer: number) => Limits {
  const each = (name: string): readonly number[] => keys.numbersPerLayer(`${keys.name}.${name}`, layers);
  const experts = each("swiglu_clamp_exp");
  const shared = keys.file.metadata.has(`${keys.name}.swiglu_clamp_shexp`) ? each("swiglu_clamp_shexp") : experts;
  const limit = (value = 0): number | undefined => (value > 1e-6 ? value : undefined);
  return (layer) => ({ experts: limit(experts[layer]), shared: limit(shared[layer]) });
}

const KEYS: SampleKeys = {
  embedding_length: 96,
  context_length: 512,
  "attention.head_count": 4,
  "attention.head_count_kv": 1,
  "attention.key_length": 32,
  "attention.value_length": 32,
  "attention.layer_norm_rms_epsilon": 1e-6,
  "attention.q_lora_rank": 24,
  "attention.sliding_window": 12,
  "attention.indexer.head_count": 16,
  "attention.indexer.key_length": 64,
  "attention.indexer.top_k": 4,
  "attention.output_group_count": 2,
  "attention.output_lora_rank": 20,
  "attention.compress_rope_freq_base": 40000,
  "rope.dimension_count": 8,
  "hyper_connection.count": 4,
  "hyper_connection.sinkhorn_iterations": 4,
  "hyper_connection.epsilon": 1e-6,
  hash_layer_count: 1,
  expert_count: 8,
  expert_used_count: 3,
  expert_feed_forward_length: 32,
  expert_shared_count: 1,
  expert_gating_func: 4,
  expert_weights_norm: true,
  expert_weights_scale: 1.5,
};

/** `ratios`: the positions of a block of each layer. */
const sampleOf = (title: string, ratios: readonly number[], keys: SampleKeys = {}): FamilySample => ({
  title,
  architecture: "deepseek4",
  keys: {
    ...KEYS,
    block_count: ratios.length,
    "attention.compress_ratios": ratios,
    swiglu_clamp_exp: ratios.map(() => 10),
    ...keys,
  },
  untied: true,
  has: /exp_probs_b/u,
});

export const deepseek4 = defineFamily<StreamHyper>({
  ...DENSE,
  name: "deepseek4",
  architectures: ["deepseek4"],
  read: (keys) => {
    const h = readDense(keys, {
      rope: { pairing: "adjacent", hasYarnKeys: true },
      experts: {
        gating: "sqrtsoftplus",
        reads: "gating and scale",
        normalise: "file",
        shared: { width: "count", gated: false },
      },
    });
    if (h.experts === undefined) throw keys.badKey("expert_count", 0, "more than 0");
    if (h.kvHeads !== 1) throw keys.badKey("attention.head_count_kv", h.kvHeads, "1");
    const experts = {
      ...h.experts,
      listedLayers: keys.optionalCount("hash_layer_count") ?? 0,
      limits: readLimits(keys, h.layers),
    };
    return {
      ...h,
      experts,
      unusedWindow: 0,
      compression: readCompression(keys, h),
      connections: readHyperConnections(keys),
    };
  },
  sizes: (h) => {
    const held = Array.from({ length: h.layers }, (_, layer) => compressionHeld(h.compression, layer));
    const near = held.filter((_, layer) => h.compression.ratioOf(layer) === 0);
    const sum = (of: readonly number[]): Pick<CacheSize, "elements" | "product"> => ({
      elements: of.reduce((a, b) => a + b, 0),
      product: of.join(" + "),
    });
    const local = near.length === 0 ? undefined : { ...sum(near), reach: h.compression.window - 1 };
    return { ...DENSE.sizes(h), cache: { ...sum(held), ...(local && { local }) } };
  },
  sentence: (h) => `${DENSE.sentence(h).slice(0, -1)}; ${h.connections.streams} streams run through them.`,
  facts: (h) => {
    const { window, ratioOf, indexer } = h.compression;
    const ratios = Array.from({ length: h.layers }, (_, layer) => ratioOf(layer));
    const blocks = RATIOS.map((ratio) => `${ratios.filter((each) => each === ratio).length} × ${ratio}`).join(", ");
    return [
      ...DENSE.facts(h),
      { label: "window", value: `${window} positions` },
      { label: "positions of a block", value: blocks },
      { label: "indexer", value: `${indexer.heads} heads of ${indexer.size}, ${indexer.topK} blocks are seen` },
      { label: "streams", value: h.connections.streams },
    ];
  },
  graph: (h, weights, options) => {
    let angles: BlockAngles | undefined;
    const { connections, compression } = h;
    return denseGraph(
      h,
      weights,
      options,
      (layer, streams, d) => {
        const known = (angles ??= new BlockAngles(d));
        const attended = layer.part("attention", () =>
          connected(d, streams, `blk.${layer.index}.hc_attn`, connections, (x) =>
            compressedAttention(d, layer.index, compression, layer.norm(x, "attn_norm", "norm"), known),
          ),
        );
        return layer.part("ffn", () =>
          connected(d, attended, `blk.${layer.index}.hc_ffn`, connections, (x) =>
            layer.gatedFeedForward(layer.norm(x, "ffn_norm", "norm")),
          ),
        );
      },
      (d, x) => asStreams(d, x, connections),
      (d, x) => joined(d, x, "output_hc", connections),
    );
  },
  samples: [
    sampleOf("blocks of four", [4, 0]),
    sampleOf("another window, four layers, no limits", [0, 4, 4, 128], {
      "attention.head_count": 6,
      "attention.output_group_count": 3,
      "attention.sliding_window": 20,
      "rope.dimension_count": 16,
      swiglu_clamp_exp: [0, 0, 0, 0],
    }),
    sampleOf("odd sizes, one group, no table", [4, 128], {
      embedding_length: 60,
      "attention.head_count": 3,
      "attention.output_group_count": 1,
      "attention.output_lora_rank": 13,
      "attention.sliding_window": 5,
      "attention.indexer.head_count": 2,
      "attention.key_length": 48,
      "attention.value_length": 48,
      "hyper_connection.sinkhorn_iterations": 1,
      "hyper_connection.epsilon": 1e-3,
      hash_layer_count: 0,
      expert_weights_norm: false,
    }),
    sampleOf("blocks of 128, yarn, tighter limits", [128, 4], {
      "rope.scaling.type": "yarn",
      "rope.scaling.factor": 4,
      "rope.scaling.original_context_length": 32,
      "rope.freq_base": 5000,
      swiglu_clamp_exp: [0.5, 0.3],
      swiglu_clamp_shexp: [0, 0.4],
      hash_layer_count: 2,
      expert_shared_count: 2,
    }),
  ],
});
