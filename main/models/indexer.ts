/**
 * The lightning indexer: a small attention beside the large one that picks which positions a token sees. Its own
 * queries meet one key for each position, which it caches; the products above 0, weighed head by head, are the
 * score of the position, and the `topK` best positions are seen. Some layers take the choice of a layer before.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { addDims, mulDims } from "../ir/dim.ts";
import type { Value } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import { bordered, filled, maskedScore, sizeValue } from "../ops/families/constants.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import { TOKENS } from "./blocks.ts";
import type { Decoder } from "./decoder.ts";
import type { DenseLayer } from "./denseBlocks.ts";
import type { HyperReader } from "./hyperReader.ts";
import type { Rope } from "./rope.ts";

export interface Indexer {
  readonly heads: number;
  /** Of a query and a key. */
  readonly size: number;
  /** Most positions that a token sees. */
  readonly topK: number;
  /** Which dimensions turn together; the first of them turn. */
  readonly pairing: Rope["pairing"];
  /** False for layers that take the choice of the layer before them. */
  readonly chooses: (layer: number) => boolean;
}

export function readIndexer(
  keys: HyperReader,
  {
    pairing,
    turning,
    chooses,
  }: {
    readonly pairing: Rope["pairing"];
    readonly turning: number;
    /** Of files that do not say it. */
    readonly chooses: (layer: number) => boolean;
  },
): Indexer {
  const size = keys.positive("attention.indexer.key_length");
  if (size < turning) throw keys.badKey("attention.indexer.key_length", size, `at least the ${turning} that turn`);
  const listed = keys.countOrFlags("attention.indexer.types");
  const says = typeof listed === "object" ? (layer: number): boolean => listed[layer] === true : undefined;
  const all = typeof listed === "number" ? (): boolean => listed !== 0 : undefined;
  const indexer = {
    heads: keys.positive("attention.indexer.head_count"),
    size,
    topK: keys.positive("attention.indexer.top_k"),
    pairing,
    chooses: says ?? all ?? chooses,
  };
  if (!indexer.chooses(0)) throw keys.badKey("attention.indexer.types", "no choice in the first layer", "one");
  return indexer;
}

/** What is added to the scores of a layer, [T, capacity]: nothing for what is seen. */
export function indexerBias(
  d: Decoder,
  layer: DenseLayer<Decoder>,
  indexer: Indexer,
  { input, queryLatent }: { readonly input: Value; readonly queryLatent: Value },
): Value {
  return d.scoped("indexer", () => {
    const { g } = d;
    const upTo = g.compare([g.iota([], { shape: [d.cache.capacity], axis: 0 }), rowsOf(g, d.positions())], {
      op: "le",
    });
    return bestBias(d, scored(d, layer, indexer, input, queryLatent), upTo, indexer.topK);
  });
}

/** 0 at the `count` best scores of each row [T, capacity] among the visible ones, so little elsewhere that nothing stays. */
export function bestBias(d: Decoder, scores: Value, visible: Value, count: number): Value {
  const { g } = d;
  const low = g.constant(hostScalar("f32", maskedScore("f32")));
  const picks = best(d, g.where([visible, scores, low], {}, "scores"), count);
  const seen = g.mul([picks, g.cast([visible], { to: "i32" })]);
  const isSeen = g.compare([seen, g.constant(hostScalar("i32", 0))], { op: "gt" }, "seen");
  return g.where([isSeen, g.constant(hostScalar("f32", 0)), low], {}, "bias");
}

const rowsOf = (g: OpBuilder, x: Value): Value => g.reshape([x], { shape: [TOKENS, 1] });

/** The score of each position for each token, [T, capacity]. */
function scored(d: Decoder, layer: DenseLayer<Decoder>, indexer: Indexer, input: Value, queryLatent: Value): Value {
  const { g } = d;
  const { heads, size, pairing } = indexer;
  const name = (tensor: string): string => `blk.${layer.index}.indexer.${tensor}`;
  const [, rank = 0] = g.typeOf(queryLatent).shape;
  const flat = d.linear(queryLatent, name("attn_q_b"), [heads * size, Number(rank)], "q");
  const q = layer.rope(g.reshape([flat], { shape: [TOKENS, heads, size] }), "q", pairing);
  const raw = d.linear(input, name("attn_k"), [size, d.sizes.width], "k");
  const normed = g.layer_norm(
    [raw, d.vector(name("k_norm.weight"), size), d.vector(name("k_norm.bias"), size)],
    { eps: 1e-6 },
    "k_norm",
  );
  const k = layer.rope(g.reshape([normed], { shape: [TOKENS, 1, size] }), "k", pairing);
  const weights = d.linear(input, name("proj"), [heads, d.sizes.width], "weights");
  return weighedScores(d, q, d.cached("index", layer.index, k), weights);
}

/** Σ over the heads of weight · max(q·k, 0): q [T, heads, size], keys [1, capacity, size], weights [T, heads]. */
export function weighedScores(d: Decoder, q: Value, keys: Value, weights: Value): Value {
  const { g } = d;
  const { heads, size } = sizesOf(d, q);
  const scale = g.constant(hostScalar("f32", Math.fround(1 / Math.sqrt(size * heads))));
  const rows = g.reshape([g.mul([weights, scale])], { shape: [TOKENS, 1, heads] });
  const sum = g.matmul([rows, positiveProducts(d, q, keys)]);
  return g.reshape([sum], { shape: [TOKENS, d.cache.capacity] }, "weighed");
}

/** max(q·k, 0) of each head, [T, heads, capacity]. */
export function positiveProducts(d: Decoder, q: Value, keys: Value): Value {
  const { g } = d;
  const { heads, size } = sizesOf(d, q);
  const { capacity } = d.cache;
  const wide = g.typeOf(keys).dtype === "f32" ? keys : g.cast([keys], { to: "f32" });
  const columns = g.transpose([g.reshape([wide], { shape: [capacity, size] })], { perm: [1, 0] });
  const products = g.matmul([g.reshape([q], { shape: [mulDims(TOKENS, heads), size] }), columns], {}, "products");
  return g.relu([g.reshape([products], { shape: [TOKENS, heads, capacity] })]);
}

function sizesOf(d: Decoder, q: Value): { readonly heads: number; readonly size: number } {
  const [, heads, size] = d.g.typeOf(q).shape;
  return { heads: Number(heads), size: Number(size) };
}

/** 1 at the `count` largest of each row [T, columns] and 0 elsewhere; all of a row that is shorter. */
function best(d: Decoder, scores: Value, count: number): Value {
  const { g } = d;
  const [, columns = 0] = g.typeOf(scores).shape;
  const missing = typeof columns === "number" ? Math.max(0, count - columns) : count;
  const width = addDims(columns, missing);
  const [, ids] = g.topk([bordered(g, scores, 1, [0, missing], -Infinity)], { k: count, ties: "any" }, "best");
  if (ids === undefined) throw new WorkbenchError("BUG_INVARIANT", "[topk] expected two outputs");
  const row = g.mul([g.iota([], { shape: [TOKENS, 1], axis: 0 }), sizeValue(g, [width], "i32")]);
  const places = g.reshape([g.add([row, ids])], { shape: [mulDims(TOKENS, count)] });
  const ones = filled(g, "i32", [mulDims(TOKENS, count)], 1);
  const marks = g.scatter_add([ones, places], { axis: 0, size: mulDims(TOKENS, width) }, "picks");
  return g.narrow([g.reshape([marks], { shape: [TOKENS, width] })], { axis: 1, start: 0, length: columns });
}
