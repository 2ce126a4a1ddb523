/**
 * An indexer that picks whole blocks of positions (Qwen3.8-Flash-Next): the mean of a block's keys, normed and turned
 * by its first position, is the key of the block. What its queries have in common with it, head by head where that is
 * above 0, is the score of each of its positions. The best positions are seen, and those behind the last whole block.
 * The key of a block stands at its last position, so the cache grows position by position; what stands elsewhere is
 * the mean of other positions and not looked at. The keys that a block still lacks are a state.
 */
import type { Value } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import { filled, sizeValue } from "../ops/families/constants.ts";
import { TOKENS } from "./blocks.ts";
import type { BlockAngles } from "./compressedAttention.ts";
import type { Decoder } from "./decoder.ts";
import type { DenseHyper } from "./dense.ts";
import type { DenseLayer } from "./denseBlocks.ts";
import type { HyperReader } from "./hyperReader.ts";
import { bestBias, positiveProducts } from "./indexer.ts";
import type { Rope } from "./rope.ts";
import { shortConvolution } from "./shortConvolution.ts";

export interface BlockIndexer {
  readonly heads: number;
  /** Of a query and a key. */
  readonly size: number;
  /** Most positions in whole blocks that a token sees. */
  readonly topK: number;
  /** Positions of a block of a layer; 0 where it sees everything. */
  readonly ratioOf: (layer: number) => number;
  readonly rope: Rope;
}

/** Above every score: 1e9, as llama.cpp has it. */
const ALWAYS = 1e9;

export function readBlockIndexer(keys: HyperReader, { layers, draftLayers = 0, rope }: DenseHyper): BlockIndexer {
  const size = keys.positive("attention.indexer.key_length");
  if (size < rope.dims) throw keys.badKey("attention.indexer.key_length", size, `at least the ${rope.dims} that turn`);
  const ratios = keys.perLayer("attention.compress_ratios", layers + draftLayers, 0);
  for (const ratio of ratios)
    if (ratio > 4096) throw keys.badKey("attention.compress_ratios", ratio, "at most 4096 positions");
  return {
    heads: keys.positive("attention.indexer.head_count"),
    size,
    topK: keys.positive("attention.indexer.top_k"),
    ratioOf: (layer) => ratios[layer] ?? 0,
    rope,
  };
}

/** What is added to the scores of a layer's attention, [T, capacity]: nothing for what is seen. */
export function blockBias(
  d: Decoder,
  layer: DenseLayer<Decoder>,
  indexer: BlockIndexer,
  input: Value,
  angles: BlockAngles,
): Value {
  return d.scoped("indexer", () => {
    const { g } = d;
    const { capacity } = d.cache;
    const ratio = indexer.ratioOf(layer.index);
    const whole = (value: number): Value => g.constant(hostScalar("i32", value));
    const scores = blockScores(d, layer, indexer, input, angles);
    const places = g.iota([], { shape: [capacity], axis: 0 });
    const position = g.reshape([d.positions()], { shape: [TOKENS, 1] });
    const begun = (x: Value): Value => g.mul([g.div([x, whole(ratio)]), whole(ratio)]);
    const last = g.minimum([
      g.add([begun(places), whole(ratio - 1)]),
      g.sub([sizeValue(g, [capacity], "i32"), whole(1)]),
    ]);
    const behind = g.compare([places, begun(g.add([position, whole(1)]))], { op: "ge" }, "behind_blocks");
    const ofBlock = g.gather([scores, last], { axis: 1 }, "of_block");
    const each = g.where([behind, g.constant(hostScalar("f32", ALWAYS)), ofBlock]);
    const upTo = g.compare([places, position], { op: "le" });
    return bestBias(d, each, upTo, indexer.topK + ratio - 1);
  });
}

/** For each token the score of the block that ends at each position, [T, capacity]. */
function blockScores(
  d: Decoder,
  layer: DenseLayer<Decoder>,
  indexer: BlockIndexer,
  input: Value,
  angles: BlockAngles,
): Value {
  const { g } = d;
  const { heads, size } = indexer;
  const ratio = indexer.ratioOf(layer.index);
  const name = (tensor: string): string => `blk.${layer.index}.indexer.${tensor}`;
  const flat = d.linear(input, name("q_proj"), [heads * size, d.sizes.width], "q");
  const q = d.norm(g.reshape([flat], { shape: [TOKENS, heads, size] }), name("q_norm"), size, "q_norm");
  const raw = d.linear(input, name("k_proj"), [size, d.sizes.width], "k");
  const share = (): Value => filled(g, "f32", [size, ratio], Math.fround(1 / ratio));
  const mean = ratio === 1 ? raw : shortConvolution(layer.place, raw, share(), { state: "block" });
  const normed = g.reshape([d.norm(mean, name("k_norm"), size, "k_norm")], { shape: [TOKENS, 1, size] });
  const turns = angles.of(indexer.rope, ratio - 1);
  const k = g.rope([normed, ...turns], { dims: indexer.rope.dims, style: "neox" }, "k_rope");
  const products = positiveProducts(d, layer.rope(q, "q"), d.cached("index", layer.index, k));
  return g.reduce([products], { kind: "sum", axes: [1] }, "block_scores");
}
