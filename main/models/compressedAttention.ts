/**
 * Attention over a window, and behind it over blocks of positions that became one key each (DeepSeek 4). A block's
 * key is a sum of its rows, weighed channel by channel by a softmax of scores; blocks that overlap take the rows of
 * the block before as well. Where they overlap, an indexer picks which blocks a token sees. The key of each block
 * stands at its last position, so caches grow position by position; what stands elsewhere is not seen.
 */
import { mulDims } from "../ir/dim.ts";
import type { Value } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import { maskedScore, sizeValue } from "../ops/families/constants.ts";
import type { RopeAngles } from "./blocks.ts";
import { TOKENS } from "./blocks.ts";
import type { Decoder } from "./decoder.ts";
import { bestBias, weighedScores } from "./indexer.ts";
import { two } from "./parts.ts";
import type { Rope } from "./rope.ts";

/** Positions of a block whose rows reach into the block before. */
const OVERLAPPING = 4;

export interface Compression {
  readonly heads: number;
  readonly headDim: number;
  readonly queryRank: number;
  /** The last dimensions of a head turn. */
  readonly turning: number;
  /** Positions that are seen one by one, the own among them. */
  readonly window: number;
  /** Positions of a block of a layer; 0 where it has the window alone. */
  readonly ratioOf: (layer: number) => number;
  /** Of layers with the window alone, and of those with blocks. */
  readonly ropes: { readonly window: Rope; readonly blocks: Rope };
  readonly indexer: { readonly heads: number; readonly size: number; readonly topK: number };
  readonly output: { readonly groups: number; readonly rank: number };
}

/** Elements that the caches of a layer hold for one position. */
export function compressionHeld({ headDim, ratioOf, indexer }: Compression, layer: number): number {
  const ratio = ratioOf(layer);
  if (ratio === 0) return headDim;
  return ratio === OVERLAPPING ? 6 * headDim + 5 * indexer.size : 4 * headDim;
}

/** Positions as angles, made once a graph. */
export class BlockAngles {
  readonly #d: Decoder;
  readonly #made = new Map<string, RopeAngles>();

  constructor(d: Decoder) {
    this.#d = d;
  }

  /** Of the step's positions, or of those so far before them, but not before the first. */
  of(rope: Rope, before = 0): RopeAngles {
    const key = `${rope.base} ${rope.scaling.kind} ${before}`;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const made = this.#d.scoped("positions", () => this.#d.ropeAngles(rope, earlier(this.#d, before)));
    this.#made.set(key, made);
    return made;
  }
}

function earlier(d: Decoder, before: number): Value {
  const positions = d.positions();
  if (before === 0) return positions;
  const { g } = d;
  return g.maximum([g.sub([positions, whole(d, before)]), whole(d, 0)]);
}

const whole = (d: Decoder, value: number): Value => d.g.constant(hostScalar("i32", value));

/** The last dimensions of [T, heads, size] turned. */
function turned(d: Decoder, x: Value, [cos, sin]: RopeAngles, turning: number): Value {
  const { g } = d;
  const [, , size = 0] = g.typeOf(x).shape;
  const [still, moving] = two(d.g, x, [Number(size) - turning, turning], "parts");
  const moved = g.rope([moving, cos, sin], { dims: turning, style: "pairs" }, "turned");
  return g.concat([still, moved], { axis: 2 });
}

export function compressedAttention(
  d: Decoder,
  layer: number,
  x: Compression,
  input: Value,
  angles: BlockAngles,
): Value {
  const { g } = d;
  const { heads, headDim, turning, output } = x;
  const name = (tensor: string): string => `blk.${layer}.${tensor}`;
  const ratio = x.ratioOf(layer);
  const rope = ratio === 0 ? x.ropes.window : x.ropes.blocks;
  const [cos, sin] = angles.of(rope);
  const made = d.linear(input, name("attn_q_a"), [x.queryRank, d.sizes.width], "q_a");
  const latent = d.norm(made, name("attn_q_a_norm"), x.queryRank, "q_a_norm");
  const flat = d.linear(latent, name("attn_q_b"), [heads * headDim, x.queryRank], "q");
  const q = d.plainNorm(g.reshape([flat], { shape: [TOKENS, heads, headDim] }), headDim, "q_norm");
  const key = d.norm(
    d.linear(input, name("attn_kv"), [headDim, d.sizes.width], "kv"),
    name("attn_kv_a_norm"),
    headDim,
    "kv_norm",
  );
  const operands = {
    q: turned(d, q, [cos, sin], turning),
    k: turned(d, g.reshape([key], { shape: [TOKENS, 1, headDim] }), [cos, sin], turning),
  };
  const scale = Math.fround(1 / Math.fround(Math.sqrt(headDim)));
  const sinks = name("attn_sinks.weight");
  const mixed =
    ratio === 0
      ? d.attend(layer, operands, { scale, window: x.window - 1, sinks })
      : overBlocks(d, layer, x, { ...operands, input, latent, scale, sinks }, angles);
  // What was turned by the keys' positions is turned back by the query's.
  const back = turned(d, mixed, [cos, g.neg([sin])], turning);
  const inner = (heads * headDim) / output.groups;
  const groups = g.reshape([back], { shape: [TOKENS, output.groups, inner] }, "groups");
  const small = d.linearGroups(groups, name("attn_output_a"), [output.groups, output.rank, inner], "output_a");
  const all = output.groups * output.rank;
  return d.linear(g.reshape([small], { shape: [TOKENS, all] }), name("attn_output_b"), [d.sizes.width, all], "output");
}

interface Over {
  readonly q: Value;
  readonly k: Value;
  readonly input: Value;
  readonly latent: Value;
  readonly scale: number;
  readonly sinks: string;
}

/** Over the window, the blocks, and the sinks as one more key without a value. */
function overBlocks(d: Decoder, layer: number, x: Compression, over: Over, angles: BlockAngles): Value {
  const { g } = d;
  const { capacity } = d.cache;
  const ratio = x.ratioOf(layer);
  const { heads, headDim } = x;
  const wide = (cache: Value): Value => (g.typeOf(cache).dtype === "f32" ? cache : g.cast([cache], { to: "f32" }));
  const near = wide(d.cached("k", layer, over.k));
  const blocks = d.scoped("blocks", () => wide(compressed(d, layer, x, over.input, "attn", angles)));
  const nothing = g.expand([g.constant(hostScalar("f32", 0))], { shape: [1, 1, headDim] });
  const keys = g.concat([near, blocks, nothing], { axis: 1 }, "keys");
  const position = g.reshape([d.positions()], { shape: [TOKENS, 1] });
  const places = g.iota([], { shape: [capacity], axis: 0 });
  const upTo = g.compare([places, position], { op: "le" });
  const both = (a: Value, b: Value): Value => g.where([a, b, g.constant(hostScalar("bool", 0))]);
  const low = g.constant(hostScalar("f32", maskedScore("f32")));
  const inWindow = both(g.compare([places, g.sub([position, whole(d, x.window)])], { op: "gt" }), upTo);
  const window = g.where([inWindow, g.constant(hostScalar("f32", 0)), low], {}, "window");
  const next = g.add([places, whole(d, 1)]);
  const ends = g.compare([g.mul([g.div([next, whole(d, ratio)]), whole(d, ratio)]), next], { op: "eq" });
  const visible = both(upTo, ends);
  const seen =
    ratio === OVERLAPPING
      ? d.scoped("indexer", () => bestBlocks(d, blockScores(d, layer, x, over, angles), visible, x.indexer.topK))
      : g.where([visible, g.constant(hostScalar("f32", 0)), low], {}, "seen");
  const forAll = (bias: Value): Value =>
    g.expand([g.reshape([bias], { shape: [1, 1, TOKENS, capacity] })], { shape: [1, heads, TOKENS, capacity] });
  const sink = g.reshape([d.vector(over.sinks, heads)], { shape: [1, heads, 1, 1] });
  const bias = g.concat(
    [forAll(window), forAll(seen), g.expand([sink], { shape: [1, heads, TOKENS, 1] })],
    { axis: 3 },
    "bias",
  );
  const rows = g.reshape([keys], { shape: [1, ...g.typeOf(keys).shape] });
  const queries = g.reshape([g.transpose([over.q], { perm: [1, 0, 2] })], { shape: [1, heads, TOKENS, headDim] });
  const mixed = g.attention([queries, rows, rows, bias], { scale: over.scale, mask: "bias" }, "attention");
  return g.transpose([g.reshape([mixed], { shape: [heads, TOKENS, headDim] })], { perm: [1, 0, 2] });
}

/** What is seen at the last positions of blocks; the blocks are picked side by side, as llama.cpp's are. */
function bestBlocks(d: Decoder, scores: Value, visible: Value, count: number): Value {
  const { g } = d;
  const places = g.iota([], { shape: [d.cache.capacity], axis: 0 });
  const size = whole(d, OVERLAPPING);
  const last = g.add([g.mul([places, size]), whole(d, OVERLAPPING - 1)]);
  const most = g.sub([sizeValue(g, [d.cache.capacity], "i32"), whole(d, 1)]);
  const isBlock = g.compare([last, most], { op: "le" });
  const [ends, none] = [g.minimum([last, most]), g.constant(hostScalar("bool", 0))];
  const isPast = g.compare([last, g.reshape([d.positions()], { shape: [TOKENS, 1] })], { op: "le" });
  const isVisible = g.where([isBlock, isPast, none]);
  const picked = bestBias(d, g.gather([scores, ends], { axis: 1 }), isVisible, count);
  const low = g.constant(hostScalar("f32", maskedScore("f32")));
  return g.where([visible, g.gather([picked, g.div([places, size])], { axis: 1 }), low], {}, "seen");
}

/** The score of each block for each token, at the block's last position: [T, capacity]. */
function blockScores(d: Decoder, layer: number, x: Compression, { input, latent }: Over, angles: BlockAngles): Value {
  const { heads, size } = x.indexer;
  const name = (tensor: string): string => `blk.${layer}.indexer.${tensor}`;
  const flat = d.linear(latent, name("attn_q_b"), [heads * size, x.queryRank], "q");
  const q = turned(d, d.g.reshape([flat], { shape: [TOKENS, heads, size] }), angles.of(x.ropes.blocks), x.turning);
  const weights = d.linear(input, name("proj"), [heads, d.sizes.width], "weights");
  return weighedScores(d, q, compressed(d, layer, x, input, "indexer", angles), weights);
}

/** The cache of the keys of blocks, [1, capacity, size], with those that end in this step. */
function compressed(
  d: Decoder,
  layer: number,
  x: Compression,
  input: Value,
  of: "attn" | "indexer",
  angles: BlockAngles,
): Value {
  const { g } = d;
  const ratio = x.ratioOf(layer);
  const size = of === "attn" ? x.headDim : x.indexer.size;
  const name = `blk.${layer}.${of}_compressor_`;
  const parts = ratio === OVERLAPPING ? 2 : 1;
  const columns = parts * size;
  const values = d.linear(input, `${name}kv`, [columns, d.sizes.width], "values");
  const place = g.sub([d.positions(), g.mul([g.div([d.positions(), whole(d, ratio)]), whole(d, ratio)])]);
  const own = g.gather([d.matrix(`${name}ape.weight`, [ratio, columns]), place], { axis: 0 }, "place");
  const scores = g.add([d.linear(input, `${name}gate`, [columns, d.sizes.width], "scores"), own]);
  const cached = (rows: Value, role: string): Value => {
    const cache = d.cached(`${of}_${role}`, layer, g.reshape([rows], { shape: [TOKENS, 1, columns] }));
    const flat = g.reshape([cache], { shape: [d.cache.capacity, columns] });
    return blockRows(d, flat, { ratio, parts, size });
  };
  const exists = g.compare([sources(d, ratio * parts), whole(d, 0)], { op: "ge" });
  const isThere = g.reshape([exists], { shape: [TOKENS, ratio * parts, 1] });
  const low = g.constant(hostScalar("f32", maskedScore("f32")));
  const weights = g.softmax([g.where([isThere, cached(scores, "scores"), low])], { axis: 1 }, "weights");
  const sum = g.reduce([g.mul([weights, cached(values, "values")])], { kind: "sum", axes: [1] }, "block");
  const normed = g.reshape([d.norm(sum, `${name}norm`, size, "norm")], { shape: [TOKENS, 1, size] });
  return d.cached(`${of}_block`, layer, turned(d, normed, angles.of(x.ropes.blocks, ratio - 1), x.turning));
}

/** The positions whose rows make the block that ends at each position, oldest first: [T, count]; some are before the first. */
function sources(d: Decoder, count: number): Value {
  const { g } = d;
  const from = g.sub([g.iota([], { shape: [1, count], axis: 1 }), whole(d, count - 1)]);
  return g.add([g.reshape([d.positions()], { shape: [TOKENS, 1] }), from]);
}

/**
 * [T, rows of a block, size] of rows [capacity, parts · size]; the block before gives the first part
 * of its rows, the block itself the last.
 */
function blockRows(
  d: Decoder,
  rows: Value,
  { ratio, parts, size }: { readonly ratio: number; readonly parts: number; readonly size: number },
): Value {
  const { g } = d;
  const count = ratio * parts;
  const places = g.maximum([sources(d, count), whole(d, 0)]);
  const taken = g.gather([rows, g.reshape([places], { shape: [mulDims(TOKENS, count)] })], { axis: 0 });
  const wide = g.typeOf(taken).dtype === "f32" ? taken : g.cast([taken], { to: "f32" });
  const all = g.reshape([wide], { shape: [TOKENS, count, parts * size] });
  if (parts === 1) return all;
  const piece = (part: number): Value => {
    const block = g.narrow([all], { axis: 1, start: part * ratio, length: ratio });
    return g.narrow([block], { axis: 2, start: part * size, length: size });
  };
  return g.concat([piece(0), piece(1)], { axis: 1 });
}
