/**
 * The parts that all decoders are assembled from. Activations are [T, width] (no batch axis:
 * docs/decisions/0005). What a family's layers look like is in its own blocks (denseBlocks.ts).
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Shape } from "../ir/dim.ts";
import { isPacked } from "../ir/dtype.ts";
import type { Graph, LowRank, Value, WeightSource } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import type { Rewind } from "../ir/rewind.ts";
import type { Steps } from "../ir/steps.ts";
import type { TensorType } from "../ir/type.ts";
import { formatType, sameShape, scalar, tensor } from "../ir/type.ts";
import { sizeValue } from "../ops/families/constants.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import type { Rope } from "./rope.ts";
import { noTensor, wrongShape } from "./tensorErrors.ts";

export interface ModelOptions {
  /** Positions a cache holds: a number, or the symbol "capacity" with `largestCapacity`. */
  readonly capacity: number | typeof CAPACITY;
  readonly cacheType: "f16" | "f32";
  /** Most new tokens in one step; memory is planned for it. */
  readonly largestStep: number;
  /** Most rows of logits in one step. */
  readonly largestRows: number;
  /** With a symbolic capacity: the largest one. */
  readonly largestCapacity?: number;
}

/** New tokens of a step, and the rows that give logits. */
export const TOKENS = "T";
export const ROWS = "R";
/** Positions that the caches hold. */
export const CAPACITY = "capacity";

export const INPUTS = { tokens: "tokens", past: "past", rows: "logit_rows" } as const;
export const LOGITS = "logits";
const EMBEDDING = "token_embd.weight";

/** The sizes that these parts need; a family's hyper-parameters have them. */
export interface DecoderSizes {
  readonly name: string;
  readonly layers: number;
  readonly width: number;
  readonly vocabulary: number;
  readonly context: number;
  readonly norm: Norm;
  readonly normEpsilon: number;
  readonly tiedEmbedding: boolean;
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

export interface DecoderState {
  readonly label: string;
  readonly rewind: Rewind;
}

export type RopeAngles = readonly [cos: Value, sin: Value];

/** A decoder while it is built: its inputs, embedding, layers and head. */
export class Decoder {
  readonly sizes: DecoderSizes;
  readonly g: OpBuilder;
  /** Element type and positions of the caches, as they were asked for. */
  readonly cache: Pick<ModelOptions, "capacity" | "cacheType">;
  /** Tokens that were read before this step. */
  readonly past: Value;
  readonly #builder: GraphBuilder;
  readonly #weights: WeightSource;
  readonly #rows: Value;
  readonly #tokens: Value;

  constructor(sizes: DecoderSizes, weights: WeightSource, options: ModelOptions) {
    const builder = new GraphBuilder(opTable, sizes.name);
    this.sizes = sizes;
    this.g = typedBuilder(builder);
    this.cache = options;
    this.#builder = builder;
    this.#weights = weights;
    builder.limitSymbol(TOKENS, options.largestStep);
    builder.limitSymbol(ROWS, options.largestRows);
    if (options.capacity === CAPACITY) builder.limitSymbol(CAPACITY, options.largestCapacity ?? sizes.context);
    this.#tokens = builder.input(INPUTS.tokens, tensor("i32", [TOKENS]), { label: INPUTS.tokens });
    this.past = builder.input(INPUTS.past, scalar("i32"), { label: INPUTS.past });
    this.#rows = builder.input(INPUTS.rows, tensor("i32", [ROWS]), { label: INPUTS.rows });
  }

  scoped<T>(scope: string, build: () => T): T {
    return this.#builder.scoped(scope, build);
  }

  /** Rows of the embedding matrix for the tokens. */
  embed(): Value {
    return this.scoped("embedding", () => {
      const { vocabulary, width } = this.sizes;
      const table = this.weight(EMBEDDING, [vocabulary, width]);
      const rows = this.#asF32(this.g.gather([table, this.#tokens], { axis: 0 }, "tokens"));
      return this.#withAdapters(rows, EMBEDDING, ({ a, b }, rank) => {
        const taken = this.#asF32(this.g.gather([this.weight(a, [vocabulary, rank]), this.#tokens], { axis: 0 }));
        return this.g.linear([taken, this.weight(b, [width, rank])]);
      });
    });
  }

  /** The stream with the learned vectors of the tokens' positions. */
  withPositions(x: Value): Value {
    return this.scoped("positions", () => {
      const table = this.weight("position_embd.weight", [this.sizes.context, this.sizes.width]);
      const rows = this.g.gather([table, this.positions()], { axis: 0 }, "position_rows");
      return this.g.add([x, this.#asF32(rows)], {}, "with_positions");
    });
  }

  /** i32 [T] */
  positions(): Value {
    return this.g.add([this.g.iota([], { shape: [TOKENS], axis: 0 }, "steps"), this.past], {}, "positions");
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

  /** The wanted rows, normed, against the output matrix: the graph's result. */
  head(x: Value, scales: Scales = {}): void {
    const { vocabulary, width, tiedEmbedding } = this.sizes;
    const rows = this.scoped("final_norm", () =>
      this.norm(this.g.gather([x, this.#rows], { axis: 0 }, "rows"), "output_norm", width, "norm"),
    );
    this.scoped("head", () => {
      const name = tiedEmbedding ? EMBEDDING : "output.weight";
      const bias = this.has("output.bias") ? [this.vector("output.bias", vocabulary)] : [];
      const matrix = this.weight(name, [vocabulary, width]);
      const plain = this.g.linear(bias[0] === undefined ? [rows, matrix] : [rows, matrix, bias[0]], {}, LOGITS);
      // The parts of an embedding's adapter are those of its rows: they say nothing of the matrix as an output.
      const logits = tiedEmbedding ? plain : this.#withLowRank(plain, rows, name, [vocabulary, width]);
      this.#builder.output(LOGITS, this.#finished(logits, scales));
    });
  }

  finish(): Graph {
    return this.#builder.finish();
  }

  /** A tensor of the file; its shape must be the one the architecture implies. */
  weight(name: string, shape: Shape): Value {
    const type = this.#weights.tensorType(name, shape);
    const model = this.#weights.name ?? this.sizes.name;
    if (!type) throw noTensor(model, name);
    if (!sameShape(type.shape, shape)) throw wrongShape(model, name, formatType(type), shape);
    return this.#builder.param(name, type, { file: this.#weights.identity, tensor: name });
  }

  has(name: string): boolean {
    return this.#weights.has(name);
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
  norm(x: Value, name: string, size: number, label: string): Value {
    const { norm, normEpsilon: eps } = this.sizes;
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
    if (this.has(`${name}.scale`))
      return this.g.add([this.product(x, name, [out, inner], label), this.vector(bias, out)], {}, `${label}_biased`);
    const biased = this.g.linear([x, this.weight(`${name}.weight`, [out, inner]), this.vector(bias, out)], {}, label);
    return this.#withLowRank(biased, x, `${name}.weight`, [out, inner]);
  }

  /** The product, by the matrix's scale where the file has one. */
  product(x: Value, name: string, shape: readonly [number, number], label: string): Value {
    const product = this.g.linear([x, this.weight(`${name}.weight`, shape)], {}, label);
    const scale = `${name}.scale`;
    const scaled = this.has(scale) ? this.g.mul([product, this.vector(scale, 1)], {}, `${label}_scaled`) : product;
    return this.#withLowRank(scaled, x, `${name}.weight`, shape);
  }

  /** Each head of [T, heads, inner] by its own matrix of [heads, out, inner]. */
  linearEach(x: Value, name: string, shape: readonly [number, number, number], label: string): Value {
    const each = this.g.iota([], { shape: [TOKENS, shape[0]], axis: 1 });
    const product = this.g.linear_grouped([x, this.weight(`${name}.weight`, shape), each], { own: true }, label);
    return this.withLowRankEach(product, [x, each], name, shape);
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

  #withLowRank(product: Value, x: Value, tensor: string, [out, inner]: readonly [number, number]): Value {
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

  /** A value that stays from step to step: how sessions can take it back, and what it becomes after this one. */
  state(name: string, type: TensorType, options: DecoderState, next: (before: Value) => Value): Value {
    const before = this.#builder.state(name, type, options);
    const after = next(before);
    this.#builder.setState(name, after);
    return after;
  }

  /** Cosines and sines of the step's positions. */
  ropeAngles(rope: Rope): RopeAngles {
    const { dims, base, scaling, attentionFactor } = rope;
    const positions = this.positions();
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

  #ropeFactors({ dims, factorsTensor, longFactors }: Rope): Value | undefined {
    if (factorsTensor !== undefined) return this.vector(factorsTensor, dims / 2);
    if (longFactors === undefined) return undefined;
    const long = this.vector(longFactors.long, dims / 2);
    const short = this.vector(longFactors.short, dims / 2);
    const above = this.g.constant(hostScalar("i32", longFactors.above));
    const isLong = this.g.compare([sizeValue(this.g, [this.cache.capacity], "i32"), above], { op: "gt" }, "is_long");
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

  #finished(logits: Value, { logits: scale = 1, logitCap }: Scales): Value {
    const { g } = this;
    const factor = (value: number): Value => g.constant(hostScalar("f32", Math.fround(value)));
    const scaled = scale === 1 ? logits : g.mul([logits, factor(scale)], {}, "scaled");
    if (logitCap === undefined) return scaled;
    return g.mul([g.tanh([g.mul([scaled, factor(1 / logitCap)])]), factor(logitCap)], {}, "capped");
  }

  /** Rows of half tables and half vectors are computed with in f32. */
  #asF32(x: Value): Value {
    const { dtype } = this.g.typeOf(x);
    if (dtype === "f32") return x;
    return isPacked(dtype) ? this.g.dequantize([x]) : this.g.cast([x], { to: "f32" });
  }
}
