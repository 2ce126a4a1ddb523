/**
 * Qwen3.8-Flash-Next: layers with a gated delta net and layers that attend over what an indexer picks, over several
 * streams. Before one layer the last tokens together are looked up in a large table. Positions have parts for time,
 * height and width, which are equal in text.
 */
import type { BlockIndexer } from "../blockIndexer.ts";
import { blockBias, readBlockIndexer } from "../blockIndexer.ts";
import { BlockAngles } from "../compressedAttention.ts";
import { attendingLayers, DENSE } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import type { DeltaHyper } from "../deltaDecoder.ts";
import { DELTA, DELTA_EXPERTS, DELTA_KEYS, readDelta, THREE_KEY_HEADS } from "../deltaDecoder.ts";
import type { FamilySample, ModelFact, ModelSizes, SampleKeys } from "../family.ts";
import { defineFamily } from "../family.ts";
import { deltaNetStates, gatedDeltaNet } from "../gatedDeltaNet.ts";
import { asStreams } from "../hyperConnections.ts";
import type { LowRankConnections } from "../lowRankConnections.ts";
import { connectedByRank, joinedByRank, readLowRankConnections } from "../lowRankConnections.ts";
import type { Ngrams } from "../ngramEmbedding.ts";
import { ngramsText, ngramStates, readNgrams, withNgrams } from "../ngramEmbedding.ts";
import { SMALL_KEYS } from "../samples.ts";

interface StreamHyper extends DeltaHyper {
  readonly connections: LowRankConnections;
  readonly indexer: BlockIndexer;
  readonly ngrams: Ngrams | undefined;
}

/** Positions of a block of each layer that attends; 0 where it sees everything. */
const blockSizes = (h: StreamHyper): readonly number[] =>
  Array.from({ length: h.layers }, (_, layer) => layer)
    .filter((layer) => h.attends?.(layer) !== false)
    .map((layer) => h.indexer.ratioOf(layer));

function sizesOf(h: StreamHyper): ModelSizes {
  const { cache, ...sizes } = DENSE.sizes(h);
  const { size } = h.indexer;
  const indexed = blockSizes(h).filter((ratio) => ratio > 0);
  const others = h.layers - attendingLayers(h);
  const [each, product] = deltaNetStates(h.net);
  const grams = h.ngrams === undefined ? 0 : ngramStates(h.ngrams, h.connections.streams * h.width);
  const waiting = indexed.reduce((sum, ratio) => sum + (ratio - 1) * size, 0);
  const parts = [`${others} layers × ${product}`, ...[grams, waiting].filter((elements) => elements > 0)];
  return {
    ...sizes,
    cache: {
      elements: cache.elements + indexed.length * size,
      product: indexed.length === 0 ? cache.product : `${cache.product} + ${indexed.length} × ${size}`,
    },
    recurrent: {
      elements: others * each + grams + waiting,
      product: parts.length === 1 ? parts.join("") : `(${parts.join(" + ")})`,
    },
  };
}

function indexerFacts(h: StreamHyper): readonly ModelFact[] {
  const { heads, size, topK } = h.indexer;
  const ratios = [...new Set(blockSizes(h))].filter((ratio) => ratio > 0);
  if (ratios.length === 0) return [];
  const value = `${heads} heads of ${size}, ${topK} positions in blocks of ${ratios.join(" or ")} are seen`;
  return [{ label: "indexer", value }];
}

/** The indexer of a layer that sees everything: such files have it. */
function isIdleIndexer(tensor: string, { indexer }: StreamHyper): boolean {
  const found = /^blk\.(\d+)\.indexer\.[qk]_(proj|norm)\.weight$/u.exec(tensor);
  return found !== null && indexer.ratioOf(Number(found[1])) === 0;
}

const KEYS: SampleKeys = {
  ...SMALL_KEYS,
  ...DELTA_KEYS,
  ...DELTA_EXPERTS,
  "rope.dimension_sections": [2, 1, 1, 0],
  "hyper_connection.count": 4,
  "hyper_connection.low_rank": 32,
  "attention.indexer.head_count": 16,
  "attention.indexer.key_length": 64,
  "attention.indexer.top_k": 16,
  "attention.compress_ratios": [0, 4, 0, 4],
};

const idleIndexer = (layer: number): readonly (readonly [string, readonly number[]])[] => [
  [`blk.${layer}.indexer.q_proj.weight`, [16 * 64, 96]],
  [`blk.${layer}.indexer.k_proj.weight`, [64, 96]],
  [`blk.${layer}.indexer.q_norm.weight`, [64]],
  [`blk.${layer}.indexer.k_norm.weight`, [64]],
];

const FACTORS = [0x243f6a8885a308d3n, 0x93198a2e03707345n, 0xa4093822299f31d1n, 0x082efa98ec4e6c89n];

/** Of groups of `longest` tokens; `counts`: rows of each head. */
const ngramKeys = (layer: number, longest: number, counts: readonly number[]): SampleKeys => ({
  embedding_length_per_layer_input: 96 / counts.length,
  "ple.layers": [layer],
  "ple.ngram_size": longest,
  "ple.heads_per_ngram": counts.length / (longest - 1),
  "ple.conv_kernel": 4,
  // Among the tokens that tests read.
  "ple.eos_token_id": 84,
  "ple.layer_multipliers": FACTORS.slice(0, longest),
  "ple.head_vocab_sizes": counts.map(BigInt),
  "ple.head_offsets": counts.map((_, head) => BigInt(counts.slice(0, head).reduce((a, b) => a + b, 0))),
});

/** `idle`: layers that attend to everything. */
const sampleOf = (title: string, keys: SampleKeys, idle: readonly number[] = [], untied = true): FamilySample => ({
  title,
  architecture: "qwen4exp",
  keys: { ...KEYS, ...keys },
  untied,
  beside: Object.fromEntries(idle.flatMap(idleIndexer)),
});

export const qwen4exp = defineFamily<StreamHyper>({
  ...DENSE,
  name: "qwen4exp",
  architectures: ["qwen4exp"],
  read: (keys) => {
    const h = readDelta(keys, "rounds", {
      gating: "softmax",
      normalise: true,
      shared: { width: "key or feed_forward_length", gated: true },
    });
    if (h.experts === undefined) throw keys.badKey("expert_count", 0, "more than 0");
    return {
      ...h,
      net: { ...h.net, gate: "sigmoid" },
      lastNorm: false,
      connections: readLowRankConnections(keys),
      indexer: readBlockIndexer(keys, h),
      ngrams: readNgrams(keys, h),
    };
  },
  sizes: sizesOf,
  isBeside: (tensor, h) => DENSE.isBeside?.(tensor, h) === true || isIdleIndexer(tensor, h),
  sentence: (h) => `${DELTA.sentence(h).slice(0, -1)}; ${h.connections.streams} streams run through them.`,
  facts: (h) => [
    ...DELTA.facts(h),
    ...indexerFacts(h),
    { label: "streams", value: `${h.connections.streams}, gates of rank ${h.connections.rank}` },
    ...(h.ngrams === undefined ? [] : [{ label: "hashed tokens", value: ngramsText(h.ngrams) }]),
  ],
  graph: (h, weights, options) => {
    let angles: BlockAngles | undefined;
    const { connections, indexer, ngrams } = h;
    return denseGraph(
      h,
      weights,
      options,
      (layer, x, d) => {
        const known = (angles ??= new BlockAngles(d));
        const begun =
          ngrams?.layer === layer.index
            ? layer.scoped("ngrams", () => withNgrams(layer.place, x, ngrams, connections.streams))
            : x;
        const attended = layer.part("attention", () =>
          connectedByRank(d, begun, `blk.${layer.index}.hc_attn`, connections, (input) => {
            if (h.attends?.(layer.index) === false) return gatedDeltaNet(layer.place, input, h.net);
            const { gate, ...heads } = layer.gatedHeads(input);
            const turned = layer.turned(layer.normed(heads));
            if (indexer.ratioOf(layer.index) === 0) return layer.attendGated(turned, gate);
            const bias = blockBias(d, layer, indexer, input, known);
            return layer.outputGated(layer.mixedBiased(turned, bias), gate);
          }),
        );
        return layer.part("ffn", () =>
          connectedByRank(d, attended, `blk.${layer.index}.hc_ffn`, connections, (input) =>
            layer.gatedFeedForward(input),
          ),
        );
      },
      (d, x) => asStreams(d, x, connections),
      (d, x) => joinedByRank(d, x, "output_hc", connections),
    );
  },
  samples: [
    sampleOf("two layers, blocks of four, groups of four tokens", {
      ...ngramKeys(0, 4, [97, 89, 101]),
      block_count: 2,
      "attention.compress_ratios": [0, 4],
    }),
    sampleOf(
      "tied, no groups of tokens, every layer attends to all",
      { "attention.compress_ratios": [0, 0, 0, 0] },
      [1, 3],
      false,
    ),
    sampleOf(
      "groups of two, three key heads, two streams, blocks of two and three",
      {
        ...THREE_KEY_HEADS,
        ...ngramKeys(1, 2, [97, 89, 83, 79, 73, 71]),
        block_count: 5,
        "attention.recurrent_layers": [true, true, false, false, false],
        "attention.compress_ratios": [0, 0, 2, 0, 3],
        "attention.indexer.top_k": 11,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "hyper_connection.count": 2,
        "hyper_connection.low_rank": 20,
        "ple.conv_kernel": 2,
      },
      [3],
    ),
    sampleOf("many rows, three taps, heads wider than their share", {
      ...ngramKeys(0, 3, [20_011, 499, 491, 503]),
      "ssm.conv_kernel": 3,
      "attention.head_count": 4,
      "attention.head_count_kv": 1,
      "attention.key_length": 32,
      "attention.value_length": 32,
      "rope.dimension_count": 16,
      "rope.freq_base": 100_000,
      "attention.compress_ratios": [0, 5, 0, 4],
      "attention.indexer.top_k": 20,
    }),
    // On all devices alike: where blocks have more positions, equal scores decide, and devices pick others of them.
    sampleOf(
      "blocks of one position",
      {
        ...ngramKeys(2, 3, [53, 59, 61, 67, 71, 73]),
        "ple.head_offsets": [400n, 0n, 60n, 121n, 188n, 259n],
        "attention.compress_ratios": [0, 1, 0, 0],
      },
      [3],
    ),
  ],
});
