/**
 * Embeddings of the last tokens (Qwen3.8-Flash-Next). For each count from 2 to n, the last so many tokens are hashed
 * by several heads; a hash is a row of one large table. One layer takes a token's rows: each of its streams opens a
 * gate for them by how alike the two are, and a convolution spreads over the next tokens what went through.
 *
 * The hash is the exclusive or of the ids, each times a factor, in 64 bits, modulo a number of the head. Whole numbers
 * of 32 bits do for it: products byte by byte with a carry, the exclusive or as the parity of a sum, the remainder as
 * a sum over the bits. The ids before a step are a state, as the last inputs of a convolution are.
 */
import type { Value } from "../ir/graph.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { bordered } from "../ops/families/constants.ts";
import { TOKENS } from "./blocks.ts";
import type { Decoder } from "./decoder.ts";
import type { DenseHyper } from "./dense.ts";
import type { LayerPlace } from "./denseBlocks.ts";
import type { HyperReader } from "./hyperReader.ts";
import { streamNorm } from "./lowRankConnections.ts";
import { shortConvolution } from "./shortConvolution.ts";

export interface Ngrams {
  /** The layer that takes the rows. */
  readonly layer: number;
  /** Most tokens of a group. */
  readonly longest: number;
  /** Heads of each length. */
  readonly heads: number;
  /** Values of a row. */
  readonly size: number;
  /** Of the table. */
  readonly rows: number;
  /** A token that ends a text: no group reaches over it. */
  readonly end: number;
  /** Tokens that the convolution sees; `longest` tokens lie between two of them. */
  readonly taps: number;
  /** Of the newest token, the one before it, and so on: 64 bits. */
  readonly factors: readonly bigint[];
  /** Of each head, those of the shortest groups first: how many rows are its own, and which is the first of them. */
  readonly counts: readonly number[];
  readonly starts: readonly number[];
}

const TABLE = "per_layer_token_embd.weight";
/** An id times a byte stays within 31 bits. */
const MOST_TOKENS = 2 ** 23;
const MOST_ROWS = 2 ** 31 - 1;

/** What the file says of them; undefined where it has none. */
export function readNgrams(keys: HyperReader, { layers, width, vocabulary }: DenseHyper): Ngrams | undefined {
  const listed = keys.wholeNumbers("ple.layers");
  if (listed.length === 0) return undefined;
  const layer = Number(listed[0]);
  if (listed.length > 1) throw keys.refuse(`Its ple.layers names ${listed.length} layers; only one is supported.`);
  if (layer < 0 || layer >= layers) throw keys.badKey("ple.layers", layer, `one of the ${layers} layers`);
  if (vocabulary > MOST_TOKENS)
    throw keys.refuse(`It has ${vocabulary} tokens; hashes of at most ${MOST_TOKENS} are supported.`);
  const longest = keys.positive("ple.ngram_size");
  if (longest < 2 || longest > 8) throw keys.badKey("ple.ngram_size", longest, "2 to 8 tokens");
  const heads = keys.positive("ple.heads_per_ngram");
  const size = keys.positive("embedding_length_per_layer_input");
  const all = (longest - 1) * heads;
  if (all * size !== width)
    throw keys.badKey("embedding_length_per_layer_input", size, `${width} values in the rows of ${all} heads`);
  const taps = keys.positive("ple.conv_kernel");
  if (taps < 2 || taps > 64) throw keys.badKey("ple.conv_kernel", taps, "2 to 64");
  const end = keys.number("ple.eos_token_id");
  if (!Number.isInteger(end) || end < 0 || end >= vocabulary)
    throw keys.badKey("ple.eos_token_id", end, `one of the ${vocabulary} tokens`);
  const [counts, starts] = [
    list(keys, "ple.head_vocab_sizes", all, 1, MOST_ROWS),
    list(keys, "ple.head_offsets", all, 0, MOST_ROWS),
  ];
  const least = counts.reduce((most, count, head) => Math.max(most, count + (starts[head] ?? 0)), 0);
  const rows = keys.file.tensor(TABLE)?.shape[0] ?? least;
  if (least > Math.min(rows, MOST_ROWS)) throw keys.badKey("ple.head_offsets", `${least} rows`, `at most ${rows}`);
  const factors = keys.wholeNumbers("ple.layer_multipliers");
  if (factors.length < longest)
    throw keys.badKey("ple.layer_multipliers", `${factors.length} entries`, `${longest}, one for each token`);
  return { layer, longest, heads, size, rows, end, taps, factors: factors.slice(0, longest), counts, starts };
}

function list(keys: HyperReader, key: string, count: number, least: number, most: number): readonly number[] {
  const all = keys.wholeNumbers(key);
  if (all.length < count) throw keys.badKey(key, `${all.length} entries`, `${count}, one for each head`);
  return all.slice(0, count).map((entry) => {
    if (entry < least || entry > most) throw keys.badKey(key, String(entry), `${least} to ${most}`);
    return Number(entry);
  });
}

export const ngramsText = ({ longest, heads, rows, size }: Ngrams): string =>
  `groups of 2 to ${longest}, ${heads} ${heads === 1 ? "head" : "heads"} for each length, ${rows} rows of ${size}`;

/** What the states hold: the last tokens, and what the convolution saw last. */
export const ngramStates = ({ longest, taps }: Ngrams, wide: number): number =>
  (longest - 1) * (longest - 1) * ID_BYTES + (taps - 1) * longest * wide;

/** The streams [T, streams, width] with what the layer takes of the rows of its tokens. */
export function withNgrams(place: LayerPlace, x: Value, n: Ngrams, streams: number): Value {
  const { d, block } = place;
  const { g } = d;
  const { width } = d.sizes;
  const wide = streams * width;
  const name = (tensor: string): string => `${block}ple_${tensor}`;
  const asStreams = (value: Value): Value => g.reshape([value], { shape: [TOKENS, streams, width] });
  const number = (value: number): Value => g.constant(hostScalar("f32", Math.fround(value)));
  const rows = d.pickedRows(
    TABLE,
    [n.rows, n.size],
    d.scoped("hash", () => rowIds(place, n)),
    "rows",
  );
  const read = g.reshape([rows], { shape: [TOKENS, width] });
  const key = streamNorm(d, asStreams(d.linear(read, name("key"), [wide, width], "key")), name("norm_key"), streams);
  const value = d.linear(read, name("value"), [width, width], "value");
  const query = streamNorm(d, x, name("norm_query"), streams);
  const products = g.reduce([g.mul([key, query])], { kind: "sum", axes: [2], keepDims: true });
  const alike = g.mul([products, number(1 / Math.sqrt(width))], {}, "alike");
  const root = g.sqrt([g.maximum([g.abs([alike]), number(1e-6)])]);
  const gates = g.sigmoid([g.mul([g.sign([alike]), root])], {}, "gates");
  const taken = g.mul([g.reshape([value], { shape: [TOKENS, 1, width] }), gates], {}, "taken");
  const normed = g.reshape([streamNorm(d, taken, name("norm_conv"), streams)], { shape: [TOKENS, wide] });
  const spread = shortConvolution(place, normed, apart(d, name("conv1d.weight"), wide, n), { state: "ngram" });
  return g.add([x, g.add([taken, asStreams(g.silu([spread], {}, "spread"))])], {}, "with_ngrams");
}

/** The weights [channels, taps] with zeros for the tokens between two taps. */
function apart(d: Decoder, name: string, channels: number, { taps, longest }: Ngrams): Value {
  const { g } = d;
  const each = g.reshape([d.matrix(name, [channels, taps])], { shape: [channels, taps, 1] });
  const spaced = g.reshape([bordered(g, each, 2, [0, longest - 1], 0)], { shape: [channels, taps * longest] });
  return g.narrow([spaced], { axis: 1, start: 0, length: (taps - 1) * longest + 1 });
}

const BYTE = 256;
/** Of an id and 1. */
const ID_BYTES = 3;
const HASH_BYTES = 8;
const HASH_BITS = 64;

const whole = (d: Decoder, value: number): Value => d.g.constant(hostScalar("i32", value));
const wholes = (d: Decoder, shape: readonly number[], values: readonly number[]): Value =>
  d.g.constant(hostTensor("i32", shape, values));

/** The rows of each token, i32 [T, heads of all lengths]. */
export function rowIds(place: LayerPlace, n: Ngrams): Value {
  const { d } = place;
  const { g } = d;
  const { longest, heads, counts, starts } = n;
  const all = counts.length;
  const bits = g.reshape([hashBits(d, groups(place, n), n)], { shape: [TOKENS, longest - 1, 1, HASH_BITS] });
  const each = g.expand([bits], { shape: [TOKENS, longest - 1, heads, HASH_BITS] });
  const places = counts.flatMap((count) =>
    Array.from({ length: HASH_BITS }, (_, bit) => Number((1n << BigInt(bit)) % BigInt(count))),
  );
  const terms = g.mul([g.reshape([each], { shape: [TOKENS, all, HASH_BITS] }), wholes(d, [all, HASH_BITS], places)]);
  const rest = g.reshape([sumModulo(d, terms, wholes(d, [all, 1], counts))], { shape: [TOKENS, all] });
  return g.add([rest, wholes(d, [all], starts)], {}, "row_ids");
}

/** The sum of the 64 columns of [T, heads, 64] modulo [heads, 1]; no number on the way has more than 31 bits. */
function sumModulo(d: Decoder, terms: Value, modulus: Value): Value {
  const { g } = d;
  let sum = terms;
  for (let half = HASH_BITS / 2; half >= 1; half /= 2) {
    const [a, b] = g.split([sum], { axis: 2, sizes: [half, half] });
    if (a === undefined || b === undefined) throw new Error("split gives two parts");
    const over = g.add([a, g.sub([b, modulus])]);
    const isBelow = g.compare([over, whole(d, 0)], { op: "lt" });
    sum = g.where([isBelow, g.add([over, modulus]), over]);
  }
  return sum;
}

/** The bits of the hashes of the last 2, 3, … tokens, lowest first: [T, longest - 1, 64]. */
function hashBits(d: Decoder, ids: Value, { longest, factors }: Ngrams): Value {
  const { g } = d;
  const bytesOf = (factor: bigint): readonly number[] =>
    Array.from({ length: HASH_BYTES }, (_, k) => Number((BigInt.asUintN(64, factor) >> BigInt(8 * k)) & 255n));
  const byBytes = wholes(d, [longest, HASH_BYTES], factors.flatMap(bytesOf));
  const products = g.mul([g.reshape([ids], { shape: [TOKENS, longest, 1] }), byBytes]);
  let carry = whole(d, 0);
  const digits = g.split([products], { axis: 2, sizes: new Array<number>(HASH_BYTES).fill(1) }).map((product) => {
    const sum = g.add([product, carry]);
    carry = g.div([sum, whole(d, BYTE)]);
    return g.sub([sum, g.mul([carry, whole(d, BYTE)])]);
  });
  const bytes = g.reshape([g.concat(digits, { axis: 2 }, "bytes")], { shape: [TOKENS, longest, HASH_BYTES, 1] });
  const shifted = g.div([bytes, wholes(d, [8], [1, 2, 4, 8, 16, 32, 64, 128])]);
  const summed = g.cumsum([shifted], { axis: 1, exclusive: false, reverse: false });
  const odd = g.sub([summed, g.mul([g.div([summed, whole(d, 2)]), whole(d, 2)])]);
  const joined = g.narrow([odd], { axis: 1, start: 1, length: longest - 1 });
  return g.reshape([joined], { shape: [TOKENS, longest - 1, HASH_BITS] }, "hash_bits");
}

/** The id of each token and of those before it, i32 [T, longest]; from an end of a text on, and before the first token, ends. */
function groups(place: LayerPlace, n: Ngrams): Value {
  const { d } = place;
  const { g } = d;
  const end = whole(d, n.end);
  const own = g.reshape([d.tokens], { shape: [TOKENS, 1] });
  // 0 for an end, as the state is before the first token.
  const isEnd = g.compare([own, end], { op: "eq" });
  const marks = g.where([isEnd, whole(d, 0), g.add([own, whole(d, 1)])]);
  const before = earlier(place, marks, n.longest - 1);
  const ends = g.cast([g.compare([before, whole(d, 0)], { op: "eq" })], { to: "i32" });
  const passed = g.cumsum([ends], { axis: 1, exclusive: false, reverse: false });
  const isNear = g.compare([passed, whole(d, 0)], { op: "eq" });
  return g.concat([own, g.where([isNear, g.sub([before, whole(d, 1)]), end])], { axis: 1 }, "ids");
}

/** The marks of the tokens before each, nearest first: [T, count]. A state holds them byte by byte, exact in half floats. */
function earlier(place: LayerPlace, marks: Value, count: number): Value {
  const { d } = place;
  const { g } = d;
  const higher = (x: Value): Value => g.div([x, whole(d, BYTE)]);
  const lowest = (x: Value, rest: Value): Value => g.sub([x, g.mul([rest, whole(d, BYTE)])]);
  const second = higher(marks);
  const third = higher(second);
  const bytes = g.concat([lowest(marks, second), lowest(second, third), third], { axis: 1 });
  const copies = g.concat(new Array<Value>(count).fill(g.cast([bytes], { to: "f32" })), { axis: 1 });
  // A convolution whose only weight lies so many tokens back.
  const taps = Array.from({ length: count * ID_BYTES }, (_, channel) =>
    Array.from({ length: count + 1 }, (_, tap) => Number(count - tap === Math.floor(channel / ID_BYTES) + 1)),
  );
  const weight = g.constant(hostTensor("f32", [count * ID_BYTES, count + 1], taps.flat()));
  const shifted = shortConvolution(place, copies, weight, { state: "ids" });
  const parts = g.reshape([g.cast([shifted], { to: "i32" })], { shape: [TOKENS, count, ID_BYTES] });
  const worth = wholes(d, [ID_BYTES], [1, BYTE, BYTE * BYTE]);
  return g.reduce([g.mul([parts, worth])], { kind: "sum", axes: [2] }, "before");
}
