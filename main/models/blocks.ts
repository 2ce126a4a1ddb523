/**
 * The parts that all models are assembled from. Activations are [T, width] (no batch axis:
 * docs/decisions/0005). A decoder (decoder.ts) reads a text in steps and keeps caches; textGraph.ts reads a
 * whole one. What a family's layers look like is in its own blocks (denseBlocks.ts).
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Dim, Shape } from "../ir/dim.ts";
import { mulDims } from "../ir/dim.ts";
import { isPacked } from "../ir/dtype.ts";
import type { Graph, LowRank, Value, WeightSource } from "../ir/graph.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import type { Steps } from "../ir/steps.ts";
import { formatType, sameShape, tensor } from "../ir/type.ts";
import type { AttentionAttrs } from "../ops/attention/attention.ts";
import type { AttentionCachedAttrs } from "../ops/attention/attention_cached.ts";
import { sizeValue } from "../ops/families/constants.ts";
import { CACHE_PACKINGS } from "../ops/families/packedRows.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import type { Rope } from "./rope.ts";
import { noTensor, sameButOnes, wrongShape } from "./tensorErrors.ts";

/** Element types of keys and values; packed ones in blocks of 32 numbers. */
export const CACHE_TYPES = ["f16", "f32", ...CACHE_PACKINGS] as const;
export type CacheType = (typeof CACHE_TYPES)[number];

export interface ModelOptions {
  /** Positions a cache holds: a number, or the symbol "capacity" with `largestCapacity`. */
  readonly capacity: number | typeof CAPACITY;
  readonly cacheType: CacheType;
  /** Most new tokens in one step; memory is planned for it. */
  readonly largestStep: number;
  /** Most rows of logits in one step. */
  readonly largestRows: number;
  /** With a symbolic capacity: the largest one. */
  readonly largestCapacity?: number;
  /** An output for each layer with experts: how many tokens of the step each of them took. */
  readonly countsExperts?: boolean;
  /** Layers that see only the newest positions keep no others (rings.ts). */
  readonly rings?: boolean;
}

/** New tokens of a step, and the rows that give logits. */
export const TOKENS = "T";
export const ROWS = "R";
/** Positions that the caches hold. */
export const CAPACITY = "capacity";
/** Rows of the rings, where the capacity is open: as many as that, up to the symbol's limit. */
export const RING = "ring";

export const INPUTS = {
  tokens: "tokens",
  past: "past",
  rows: "logit_rows",
  length: "length",
  /** Tokens of the text that an encoder read. */
  sourceLength: "source_length",
} as const;
export const LOGITS = "logits";
/** i32 [experts] */
export const expertOutput = (layer: number): string => `experts.${layer}`;
export const EMBEDDING = "token_embd.weight";

/** The sizes that these parts need; a family's hyper-parameters have them. */
export interface GraphSizes {
  readonly name: string;
  readonly layers: number;
  readonly width: number;
  readonly vocabulary: number;
  readonly context: number;
  readonly norm: Norm;
  readonly normEpsilon: number;
}

/** RMS; mean and variance; or those without a weight. A bias is added where the file has one. */
export type Norm = "rms" | "layer" | "bare";

/** Factors that some families put on their streams; 1 when absent. */
export interface Scales {
  readonly embedding?: number;
  /** Of what a block adds to the stream. */
  readonly residual?: number;
  readonly logits?: number;
  /** Logits become cap · tanh(logits / cap). */
  readonly logitCap?: number;
}

/** Queries at position p are multiplied by 1 + scale · ln(⌊(p + offset) / each⌋ + 1). */
export interface Temperature {
  readonly scale: number;
  readonly offset: number;
  readonly each: number;
}

export type RopeAngles = readonly [cos: Value, sin: Value];

/** Queries [T, heads, size], keys and values [T, key heads, size] of one layer. */
export interface Heads {
  readonly q: Value;
  readonly k: Value;
  /** Of the size of k, or of another. */
  readonly v: Value;
}

/** Heads whose values are the keys: one cache holds both. */
export type SharedHeads = Omit<Heads, "v">;

/** How a layer attends; `window` and `chunk` count positions behind the query's own. */
export interface AttentionRules extends AttentionCachedAttrs {
  /** A tensor with one logit for each head. */
  readonly sinks?: string;
}

/** q [T, heads, size] over keys and values [1, key heads, N, size] under a mask: [T, heads, size of a value]. */
export function attendWhole(
  g: OpBuilder,
  q: Value,
  [k, v]: readonly [Value, Value],
  attrs: AttentionAttrs,
  mask?: Value,
): Value {
  const [tokens = 0, heads = 0, width = 0] = g.typeOf(q).shape;
  const [, , , size = 0] = g.typeOf(v).shape;
  const rows = g.reshape([g.transpose([q], { perm: [1, 0, 2] })], { shape: [1, heads, tokens, width] });
  const mixed = g.attention(mask === undefined ? [rows, k, v] : [rows, k, v, mask], attrs);
  const back = g.transpose([g.reshape([mixed], { shape: [heads, tokens, size] })], { perm: [1, 0, 2] });
  return g.reshape([back], { shape: [tokens, heads, size] }, "attention");
}

/** A model while it is built: its tokens, embedding and layers, and what their products and norms are made of. */
export abstract class ModelGraph {
  readonly sizes: GraphSizes;
  readonly g: OpBuilder;
  /** The ids of the step's tokens, i32 [T]. */
  readonly tokens: Value;
  protected readonly builder: GraphBuilder;
  readonly #weights: WeightSource;
  readonly #countsExperts: boolean;

  protected constructor(sizes: GraphSizes, weights: WeightSource, largestStep: number, countsExperts = false) {
    const builder = new GraphBuilder(opTable, sizes.name);
    this.sizes = sizes;
    this.g = typedBuilder(builder);
    this.builder = builder;
    this.#weights = weights;
    this.#countsExperts = countsExperts;
    builder.limitSymbol(TOKENS, largestStep);
    this.tokens = builder.input(INPUTS.tokens, tensor("i32", [TOKENS]), { label: INPUTS.tokens });
  }

  /** i32 [T] */
  abstract positions(): Value;
  /** What each token takes from those that it sees: [T, heads, size]. */
  abstract attend(layer: number, heads: Heads | SharedHeads, rules: AttentionRules): Value;
  /** What the graph gives, from the stream behind the last layer. */
  abstract head(x: Value, scales?: Scales, norm?: string | false): void;
  /** Positions that there is room for. */
  protected abstract room(): Dim;

  scoped<T>(scope: string, build: () => T): T {
    return this.builder.scoped(scope, build);
  }

  /** Rows of the embedding matrix for the tokens. */
  embed(): Value {
    return this.scoped("embedding", () => this.tokenRows(EMBEDDING, this.sizes.width, "tokens"));
  }

  /** The tokens' rows of a matrix with one for each, as f32. */
  tokenRows(name: string, columns: number, label: string): Value {
    return this.pickedRows(name, [this.sizes.vocabulary, columns], this.tokens, label);
  }

  /** The rows of a matrix at `ids`, as f32. */
  pickedRows(name: string, [count, columns]: readonly [number, number], ids: Value, label: string): Value {
    const rowsOf = (table: Value, as?: string): Value => this.#asF32(this.g.gather([table, ids], { axis: 0 }, as));
    const rows = rowsOf(this.weight(name, [count, columns]), label);
    return this.#withAdapters(rows, name, ({ a, b }, rank) =>
      this.g.linear([rowsOf(this.weight(a, [count, rank])), this.weight(b, [columns, rank])]),
    );
  }

  /** The stream with the learned vectors of the tokens' positions. */
  withPositions(x: Value): Value {
    return this.scoped("positions", () => {
      const table = this.weight("position_embd.weight", [this.sizes.context, this.sizes.width]);
      const rows = this.g.gather([table, this.positions()], { axis: 0 }, "position_rows");
      return this.g.add([x, this.#asF32(rows)], {}, "with_positions");
    });
  }

  /** Calls `build` for each layer in its scope, threading the residual stream; with a pause before each. */
  *layers(x: Value, build: (layer: number, x: Value) => Value): Steps<Value> {
    let stream = x;
    for (let i = 0; i < this.sizes.layers; i++) {
      yield;
      stream = this.scoped(`blk.${i}`, () => build(i, stream));
    }
    return stream;
  }

  /** Counts the picks of a layer's router, i32 [T, used], where that was asked for. */
  countExperts(layer: number, ids: Value, experts: number): void {
    if (!this.#countsExperts) return;
    const { g } = this;
    const [tokens = TOKENS, used = 1] = g.typeOf(ids).shape;
    const shape = [mulDims(tokens, used)];
    const ones = g.expand([g.constant(hostScalar("i32", 1))], { shape });
    const counts = g.scatter_add([ones, g.reshape([ids], { shape })], { axis: 0, size: experts }, "picks");
    this.builder.output(expertOutput(layer), counts);
  }

  finish(): Graph {
    return this.builder.finish();
  }

  /** A tensor of the file; its shape must be the one the architecture implies. */
  weight(name: string, shape: Shape): Value {
    const type = this.#weights.tensorType(name, shape);
    const model = this.#weights.name ?? this.sizes.name;
    if (!type) throw noTensor(model, name);
    const read = (): Value => this.builder.param(name, type, { file: this.#weights.identity, tensor: name });
    if (sameShape(type.shape, shape)) return read();
    if (isPacked(type.dtype) || !sameButOnes(type.shape, shape)) throw wrongShape(model, name, formatType(type), shape);
    return this.g.reshape([read()], { shape });
  }

  has(name: string): boolean {
    return this.#weights.has(name);
  }

  /** The first row of a table, as f32 [1, columns]. */
  firstRow(name: string, shape: readonly [number, number]): Value {
    const first = this.g.constant(hostTensor("i32", [1], [0]));
    return this.#asF32(this.g.gather([this.weight(name, shape), first], { axis: 0 }, "first_row"));
  }

  /** The tokens' rows of a table of whole numbers. */
  tokenNumbers(name: string, columns: number, label: string): Value {
    const table = this.weight(name, [this.sizes.vocabulary, columns]);
    const rows = this.g.gather([table, this.tokens], { axis: 0 }, label);
    return this.g.typeOf(rows).dtype === "i32" ? rows : this.g.cast([rows], { to: "i32" });
  }

  /** A norm's scale or a bias, as f32. */
  vector(name: string, size: number): Value {
    return this.#asF32(this.weight(name, [size]));
  }

  /** A bias for each expert, as f32. */
  matrix(name: string, shape: Shape): Value {
    return this.#asF32(this.weight(name, shape));
  }

  /** A norm of the family's kind; `name` without its `.weight`. */
  norm(x: Value, name: string, size: number, label: string, eps = this.sizes.normEpsilon): Value {
    const { norm } = this.sizes;
    if (norm === "bare") return this.plainNorm(x, size, label);
    const weight = this.vector(`${name}.weight`, size);
    const bias = `${name}.bias`;
    const operands = this.has(bias) ? ([x, weight, this.vector(bias, size)] as const) : ([x, weight] as const);
    return norm === "rms" ? this.g.rms_norm(operands, { eps }, label) : this.g.layer_norm(operands, { eps }, label);
  }

  /** The norm without a weight. */
  plainNorm(x: Value, size: number, label: string): Value {
    const ones = this.g.expand([this.g.constant(hostScalar("f32", 1))], { shape: [size] });
    const eps = this.sizes.normEpsilon;
    return this.sizes.norm === "rms"
      ? this.g.rms_norm([x, ones], { eps }, label)
      : this.g.layer_norm([x, ones], { eps }, label);
  }

  /** A norm over the last axis whose weight differs from head to head: [T, heads, size]. */
  normEach(x: Value, name: string, shape: Shape, label: string): Value {
    const size = shape.at(-1);
    const normed = this.plainNorm(x, typeof size === "number" ? size : 1, label);
    return this.g.mul([normed, this.matrix(`${name}.weight`, shape)], {}, `${label}_weight`);
  }

  /** The product with a bias where the file has one. */
  linear(x: Value, name: string, [out, inner]: readonly [number, number], label: string): Value {
    const bias = `${name}.bias`;
    if (!this.has(bias)) return this.product(x, name, [out, inner], label);
    if (this.scaleOf(name) !== undefined)
      return this.g.add([this.product(x, name, [out, inner], label), this.vector(bias, out)], {}, `${label}_biased`);
    const biased = this.g.linear([x, this.weight(`${name}.weight`, [out, inner]), this.vector(bias, out)], {}, label);
    return this.withLowRank(biased, x, `${name}.weight`, [out, inner]);
  }

  /** The name of a matrix's second scale where the file has one: writers of NVFP4 use two names. */
  scaleOf(name: string): string | undefined {
    return [`${name}.scale`, `${name}.weight.scale`].find((each) => this.has(each));
  }

  /** The product, by the matrix's scale where the file has one. */
  product(x: Value, name: string, shape: readonly [number, number], label: string): Value {
    const product = this.g.linear([x, this.weight(`${name}.weight`, shape)], {}, label);
    const scale = this.scaleOf(name);
    const scaled = scale === undefined ? product : this.g.mul([product, this.vector(scale, 1)], {}, `${label}_scaled`);
    return this.withLowRank(scaled, x, `${name}.weight`, shape);
  }

  /** Each head of [T, heads, inner] by its own matrix of [heads, out, inner]. */
  linearEach(x: Value, name: string, shape: readonly [number, number, number], label: string): Value {
    const each = this.g.iota([], { shape: [TOKENS, shape[0]], axis: 1 });
    const product = this.g.linear_grouped([x, this.weight(`${name}.weight`, shape), each], { own: true }, label);
    return this.withLowRankEach(product, [x, each], name, shape);
  }

  /** The same where the file has the matrices of [groups, out, inner] as the rows of one. */
  linearGroups(x: Value, name: string, shape: readonly [number, number, number], label: string): Value {
    const [groups, out, inner] = shape;
    const each = this.g.iota([], { shape: [TOKENS, groups], axis: 1 });
    const weight = this.#inGroups(`${name}.weight`, shape);
    const product = this.g.linear_grouped([x, weight, each], { own: true }, label);
    return this.#withAdapters(product, `${name}.weight`, ({ a, b }, rank) => {
      const taken = this.g.linear([x, this.weight(a, [rank, inner])]);
      return this.g.linear_grouped([taken, this.#inGroups(b, [groups, out, rank]), each], { own: true });
    });
  }

  /** The rows of a matrix as matrices of their own: the bytes are the same. */
  #inGroups(name: string, [groups, out, inner]: readonly [number, number, number]): Value {
    const whole = [groups * out, inner];
    const type = this.#weights.tensorType(name, whole);
    const model = this.#weights.name ?? this.sizes.name;
    if (!type) throw noTensor(model, name);
    if (!sameShape(type.shape, whole)) throw wrongShape(model, name, formatType(type), whole);
    const source = { file: this.#weights.identity, tensor: name };
    return this.builder.param(name, { ...type, shape: [groups, out, inner] }, source);
  }

  /** Products by picked matrices of [count, out, inner], with what adapters add to them. */
  withLowRankEach(
    product: Value,
    [rows, ids]: readonly [Value, Value],
    name: string,
    [count, out, inner]: readonly [number, number, number],
  ): Value {
    return this.#withAdapters(product, `${name}.weight`, ({ a, b }, rank) => {
      const taken = this.g.linear_grouped([rows, this.weight(a, [count, rank, inner]), ids], {});
      return this.g.linear_grouped([taken, this.weight(b, [count, out, rank]), ids], {});
    });
  }

  /** A product with one matrix, with what adapters add to it. */
  protected withLowRank(product: Value, x: Value, tensor: string, [out, inner]: readonly [number, number]): Value {
    return this.#withAdapters(product, tensor, ({ a, b }, rank) =>
      this.g.linear([this.g.linear([x, this.weight(a, [rank, inner])]), this.weight(b, [out, rank])]),
    );
  }

  /** The product with the share of each adapter that changes the tensor. */
  #withAdapters(
    product: Value,
    tensor: string,
    build: (parts: ReturnType<LowRank["parts"]>, rank: number) => Value,
  ): Value {
    return (this.#weights.adapters ?? []).reduce((sum, adapter) => {
      const rank = adapter.rankOf(tensor);
      if (rank === undefined) return sum;
      const factor = this.g.constant(hostScalar("f32", Math.fround(adapter.factor(rank))));
      const share = this.g.mul([build(adapter.parts(tensor), rank), factor], {}, "adapter_share");
      return this.g.add([sum, share], {}, "adapted");
    }, product);
  }

  /** Cosines and sines of the step's positions, or of others. */
  ropeAngles(rope: Rope, positions = this.positions()): RopeAngles {
    const { dims, base, scaling, attentionFactor } = rope;
    const factors = this.#ropeFactors(rope);
    const [cos, sin] = this.g.rope_table(
      factors === undefined ? [positions] : [positions, factors],
      {
        dims,
        base,
        scaling: scaling.kind,
        factor: scaling.kind === "none" ? 1 : scaling.factor,
        originalContext: scaling.kind === "yarn" ? scaling.originalContext : 0,
        attentionFactor,
        betaFast: scaling.kind === "yarn" ? scaling.betaFast : 32,
        betaSlow: scaling.kind === "yarn" ? scaling.betaSlow : 1,
      },
      "rope angles",
    );
    if (!cos || !sin) throw new WorkbenchError("BUG_INVARIANT", "[rope_table] expected two outputs");
    return [cos, sin];
  }

  #ropeFactors({ dims, factorsTensor, factorsCount = dims / 2, longFactors }: Rope): Value | undefined {
    if (factorsTensor !== undefined) {
      const factors = this.vector(factorsTensor, factorsCount);
      return factorsCount === dims / 2 ? factors : this.g.narrow([factors], { axis: 0, start: 0, length: dims / 2 });
    }
    if (longFactors === undefined) return undefined;
    const long = this.vector(longFactors.long, dims / 2);
    const short = this.vector(longFactors.short, dims / 2);
    const above = this.g.constant(hostScalar("i32", longFactors.above));
    const isLong = this.g.compare([sizeValue(this.g, [this.room()], "i32"), above], { op: "gt" }, "is_long");
    return this.g.where([isLong, long, short], {}, "factors");
  }

  /** [T, 1, 1]: what queries are multiplied by, more behind every so many positions. */
  temperatures({ scale, offset, each }: Temperature): Value {
    const { g } = this;
    const number = (value: number): Value => g.constant(hostScalar("f32", Math.fround(value)));
    const place = g.add([g.cast([this.positions()], { to: "f32" }), number(offset)]);
    const stage = g.floor([g.div([place, number(each)])]);
    const grown = g.mul([g.log([g.add([stage, number(1)])]), number(scale)]);
    return g.reshape([g.add([grown, number(1)])], { shape: [TOKENS, 1, 1] }, "temperatures");
  }

  /** Rows of half tables and half vectors are computed with in f32. */
  #asF32(x: Value): Value {
    const { dtype } = this.g.typeOf(x);
    if (dtype === "f32") return x;
    return isPacked(dtype) ? this.g.dequantize([x]) : this.g.cast([x], { to: "f32" });
  }
}
