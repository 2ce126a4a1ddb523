/**
 * One op is one value with everything that is known of it, in this order: name, summary, arity,
 * names of operands, attributes, shape inference, reference (float64: the meaning of the op), what
 * to compare it with, gradient and batching rules, traits, one entry per backend, samples (small
 * inputs: they are the tests). A stable backend without an entry is a compile error; "unsupported"
 * is data with a reason.
 */
import type { CoremlEmitter, MilValue } from "../backends/coreml/emitter.ts";
import type { CpuEmitter, CpuValue } from "../backends/cpu/emitter.ts";
import type { MlxEmitter, MlxValue } from "../backends/mlx/emitter.ts";
import type { AnyAttrSchema, AttrRecord, AttrSchema, NoAttrs } from "../ir/attributes.ts";
import type { Bindings, Dim, Sizes } from "../ir/dim.ts";
import { isInteger } from "../ir/dtype.ts";
import type { Graph, Value } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import type { NodeInfo } from "../ir/nodeInfo.ts";
import type { OpSpec, Range, Trait } from "../ir/opTable.ts";
import type { TensorType } from "../ir/type.ts";
import { wrapWhole } from "../ir/wholeNumbers.ts";
import { moveParts } from "./complexParts.ts";
import type { OpBuilder, RegionMaker } from "./opBuilder.ts";

export type { NodeInfo } from "../ir/nodeInfo.ts";
export type { Range } from "../ir/opTable.ts";
export type AnyNumber = Range<1>;
export const ANY_NUMBER: AnyNumber = { least: 1, most: Number.MAX_SAFE_INTEGER };

/** How many operands an op takes: a number, or a range. */
export type Arity = number | Range;

type Times<N extends number, T, Made extends readonly T[] = []> = Made["length"] extends N
  ? Made
  : Times<N, T, readonly [...Made, T]>;
/** `Made`, and optional ones up to the count of `M`. */
type UpTo<
  M extends number,
  T,
  Made extends readonly unknown[],
  Count extends readonly unknown[],
> = Count["length"] extends M ? Made : UpTo<M, T, readonly [...Made, T?], readonly [...Count, T]>;
type Tuple<L extends number, M extends number, T> = number extends L | M
  ? readonly T[]
  : UpTo<M, T, Times<L, T>, Times<L, T>>;

/** A tuple with an element per operand; a list where the number is not known to the compiler. */
export type InputsOf<A extends Arity, T> = A extends number
  ? Tuple<A, A, T>
  : A extends Range<infer L, infer M>
    ? Tuple<L, M, T>
    : never;
type NamesOf<A extends Arity> = A extends Range<number, infer M> ? Tuple<M, M, string> : InputsOf<A, string>;

/** "one": the builder returns a value; "many": a list of values. */
export type OutputCount = "one" | "many";

export const STABLE_BACKENDS = ["cpu", "coreml", "mlx"] as const;
export const EXPERIMENTAL_BACKENDS = ["webgpu"] as const;
export type StableBackend = (typeof STABLE_BACKENDS)[number];
export type ExperimentalBackend = (typeof EXPERIMENTAL_BACKENDS)[number];
export type Backend = StableBackend | ExperimentalBackend;

interface BackendTypes {
  cpu: { emitter: CpuEmitter; value: CpuValue };
  coreml: { emitter: CoremlEmitter; value: MilValue };
  mlx: { emitter: MlxEmitter; value: MlxValue };
  webgpu: { emitter: never; value: never };
}

/** The op in terms of others. Checked against the reference on every sample. */
export type Decomposition<Attrs, A extends Arity> = (
  g: OpBuilder,
  inputs: InputsOf<A, Value>,
  attrs: Attrs,
  node: NodeInfo<Attrs>,
) => Value | readonly Value[];

/** For a backend entry, a gradient or a batching rule: use the op's parts. */
export interface Decomposed<Attrs, A extends Arity> {
  readonly kind: "decompose";
  readonly via: Decomposition<Attrs, A>;
  /** For the dispatch report: why, and as what, where "as its parts" does not say enough. */
  readonly note?: string;
}
export const decomposed = <Attrs, A extends Arity>(
  via: Decomposition<Attrs, A>,
  note?: string,
): Decomposed<Attrs, A> => ({ kind: "decompose", via, ...(note !== undefined && { note }) });

/** A backend entry whose parts are not for every node. */
export interface DecomposedWhen<Attrs, A extends Arity> extends Decomposed<Attrs, A> {
  /** true, or why the backend does not run this node, not even as its parts. */
  readonly when?: (node: NodeInfo<Attrs>) => true | string;
}

/** The entries of an op that no backend has: its parts. */
export const everywhere = <Attrs, A extends Arity>(
  via: Decomposition<Attrs, A>,
): { readonly [B in Backend]: Decomposed<Attrs, A> } => {
  const parts = decomposed(via);
  return { cpu: parts, coreml: parts, mlx: parts, webgpu: parts };
};

export type Lowering<E, V, Attrs, A extends Arity> =
  | {
      readonly kind: "native";
      readonly emit: (emitter: E, inputs: InputsOf<A, V>, attrs: Attrs, node: NodeInfo<Attrs>) => V | readonly V[];
      /** true, or why this node (dtype, rank, symbolic size) cannot be lowered so. */
      readonly when?: (node: NodeInfo<Attrs>) => true | string;
      /** How it runs, for the dispatch report, where "itself" does not say enough. */
      readonly how?: (node: NodeInfo<Attrs>) => string;
      /** Operands it reads in fp32, whatever the backend's floats: a weight that only it reads is stored in fp32. */
      readonly reads32?: readonly number[];
      /** The operand that is a matrix whose rows Core ML can calculate in parts. */
      readonly splits?: number;
    }
  | DecomposedWhen<Attrs, A>
  | { readonly kind: "unsupported"; readonly reason: string };

export type Backends<Attrs, A extends Arity> = {
  readonly [B in StableBackend]: Lowering<BackendTypes[B]["emitter"], BackendTypes[B]["value"], Attrs, A>;
} & {
  readonly [B in ExperimentalBackend]?: Lowering<BackendTypes[B]["emitter"], BackendTypes[B]["value"], Attrs, A>;
};

export const unsupported = (reason: string): { readonly kind: "unsupported"; readonly reason: string } => ({
  kind: "unsupported",
  reason,
});

export interface VjpContext<Attrs, A extends Arity> {
  readonly g: OpBuilder;
  readonly inputs: InputsOf<A, Value>;
  readonly outputs: readonly Value[];
  /** Cotangent of each output; undefined where nothing depends on it. */
  readonly cotangents: readonly (Value | undefined)[];
  /** The first cotangent, for ops with one output. */
  readonly ct: Value;
  readonly attrs: Attrs;
  readonly node: NodeInfo<Attrs>;
  /** For each operand: true if a gradient is needed for it or anything upstream of it. */
  readonly wanted: readonly boolean[];
  /**
   * For sub-graphs: the graph over the inputs of `region` followed by the cotangents of its outputs
   * `of`, which gives the gradients of its inputs `wrt`. Both are positions.
   */
  readonly gradientOf: (region: Graph, of: readonly number[], wrt: readonly number[]) => Graph;
}

export interface JvpContext<Attrs, A extends Arity> {
  readonly g: OpBuilder;
  readonly inputs: InputsOf<A, Value>;
  readonly outputs: readonly Value[];
  /** Tangent of each operand; undefined where it stays. */
  readonly tangents: readonly (Value | undefined)[];
  readonly attrs: Attrs;
  readonly node: NodeInfo<Attrs>;
  /**
   * For sub-graphs: the graph over the inputs of `region` followed by the tangents of its inputs `wrt`, which gives its
   * results and behind them the tangents of the float ones.
   */
  readonly tangentOf: (region: Graph, wrt: readonly number[]) => Graph;
}

/**
 * Forward mode of an op that has its own: a tangent for each output, undefined where it does not move. Nothing at all: the
 * transpose of the gradient rule, as for ops without such a rule.
 */
export type Tangent<Attrs, A extends Arity> = (
  context: JvpContext<Attrs, A>,
) => readonly (Value | undefined)[] | undefined;

/** A rule gives one cotangent per input; undefined where no gradient flows (integer operands, indices). */
export type Gradient<Attrs, A extends Arity> =
  | { readonly kind: "vjp"; readonly rule: (context: VjpContext<Attrs, A>) => readonly (Value | undefined)[] }
  | Decomposed<Attrs, A>
  | { readonly kind: "nondifferentiable"; readonly reason: string };

export const nondifferentiable = (reason: string): { readonly kind: "nondifferentiable"; readonly reason: string } => ({
  kind: "nondifferentiable",
  reason,
});

export interface VmapContext<Attrs, A extends Arity> {
  readonly g: OpBuilder;
  /** Batched operands carry the batch axis in front. */
  readonly inputs: InputsOf<A, Value>;
  readonly batched: readonly boolean[];
  /** Size of the batch axis. */
  readonly size: Dim;
  readonly attrs: Attrs;
  /** The unbatched node. */
  readonly node: NodeInfo<Attrs>;
  /** For sub-graphs: the graph that runs all items at once. Every output of it has the batch axis. */
  readonly batchOf: (region: Graph, batched: readonly boolean[]) => Graph;
  /** A sub-graph with other sizes for its symbols. */
  readonly boundOf: (region: Graph, sizes: Sizes) => Graph;
}

/**
 * "elementwise" broadcasts by itself (operands are rank-aligned first); a rule returns outputs with
 * the batch axis in front.
 */
export type Batching<Attrs, A extends Arity> =
  | { readonly kind: "elementwise" }
  | { readonly kind: "rule"; readonly rule: (context: VmapContext<Attrs, A>) => Value | readonly Value[] }
  | Decomposed<Attrs, A>
  | { readonly kind: "unsupported"; readonly reason: string };

/** A small input that drives every automatic test of the op. */
export interface Sample<Attrs> {
  readonly title: string;
  readonly inputs: readonly SampleInput[];
  readonly attrs: Attrs;
  /** For symbolic samples: sizes to run with. */
  readonly bindings?: Bindings;
  /** false where finite differences do not apply (kinks, integers). */
  readonly differentiable?: false;
  /** Of control flow: its sub-graphs, for inputs of these types. */
  readonly regions?: (region: RegionMaker, inputs: readonly TensorType[]) => readonly Graph[];
}

export interface SampleInput {
  /** May hold symbols; then `shape` of the data follows from the sample's bindings. */
  readonly type: TensorType;
  /** Values; or a seeded fill. */
  readonly fill:
    | { readonly kind: "values"; readonly data: readonly number[] }
    | { readonly kind: "normal"; readonly seed: number; readonly scale?: number; readonly offset?: number }
    | { readonly kind: "uniform"; readonly seed: number; readonly low: number; readonly high: number }
    | { readonly kind: "integers"; readonly seed: number; readonly low: number; readonly high: number };
}

/**
 * The op by an implementation that is not ours, in Python with `np` and `scipy` or with `jnp` and `jax`: statements, and an
 * expression at the end. It sees the operands `x0`, `x1` … and all of them as `xs`, the attributes `a` (and in it the sample's
 * `title`), the shape `s` of the first result. Several results are a tuple. Only tests run it (main/ops/conformance.oracle.test.ts).
 */
export type Oracle = { readonly numpy: string } | { readonly jax: string };

/**
 * What a step moves, where that is not every operand and result. picks: of its first operand as many elements as the result has ·
 * appends: the second operand is written into the first, which stays where it is.
 */
export type Moves = "picks" | "appends";

/** Runs a sub-graph in the reference. */
export type RegionRun = (inputs: readonly HostTensor[]) => readonly HostTensor[];

export interface Op<
  Name extends string = string,
  Attrs = NoAttrs,
  A extends Arity = Arity,
  O extends OutputCount = "one",
> {
  readonly name: Name;
  readonly summary: string;
  readonly arity: A;
  /** What the operands are called, optional ones too; none where there may be any number. */
  readonly operands: NamesOf<A>;
  /** Of an op with any number of operands whose attributes say which they are. */
  readonly operandsBy?: (attrs: Attrs) => readonly string[];
  readonly outputs: O;
  /** What the results are called, where "result" does not say it. */
  readonly results?: readonly string[];
  readonly attributes: AttrSchema<Attrs>;
  /** Names of its sub-graphs; absent where it has none. */
  readonly regionNames?: readonly string[];
  readonly infer: (
    inputs: InputsOf<A, TensorType>,
    attrs: Attrs,
    regions: readonly Graph[],
  ) => O extends "one" ? TensorType : readonly TensorType[];
  /** Slow, obvious, float64. Inputs and outputs are host tensors with static shapes. */
  readonly reference: (
    inputs: InputsOf<A, HostTensor>,
    attrs: Attrs,
    outputTypes: readonly TensorType[],
    regions?: readonly RegionRun[],
  ) => O extends "one" ? HostTensor : readonly HostTensor[];
  readonly oracle: Oracle;
  readonly gradient: Gradient<Attrs, A>;
  /** Only where forward mode is not the transpose of the gradient rule. */
  readonly tangent?: Tangent<Attrs, A>;
  readonly batching: Batching<Attrs, A>;
  readonly traits: readonly Trait[];
  readonly moves?: Moves;
  readonly backends: Backends<Attrs, A>;
  readonly samples: readonly Sample<Attrs>[];
}

/** Identity at run time; its type does the work. The attributes' type comes from the annotation alone. */
export const defineOp = <Name extends string, Attrs, A extends Arity, O extends OutputCount>(
  op: Op<Name, NoInfer<Attrs>, A, O>,
): Op<Name, Attrs, A, O> => op;

/** Any op, with its types forgotten: for tables and loops over ops. Attributes were checked against the schema. */
export interface AnyOp extends OpSpec {
  readonly outputCount: OutputCount;
  readonly operands: readonly string[];
  readonly operandsBy: ((attrs: AttrRecord) => readonly string[]) | undefined;
  readonly results: readonly string[];
  readonly moves: Moves | undefined;
  readonly oracle: Oracle;
  readonly reference: (
    inputs: readonly HostTensor[],
    attrs: AttrRecord,
    outputTypes: readonly TensorType[],
    regions: readonly RegionRun[],
  ) => readonly HostTensor[];
  readonly gradient: Gradient<AttrRecord, AnyNumber>;
  readonly tangent: Tangent<AttrRecord, AnyNumber> | undefined;
  readonly batching: Batching<AttrRecord, AnyNumber>;
  readonly backends: Backends<AttrRecord, AnyNumber>;
  readonly samples: readonly Sample<AttrRecord>[];
}

const rangeOf = (arity: Arity): Range => (typeof arity === "number" ? { least: arity, most: arity } : arity);

export const asList = <T>(value: T | readonly T[]): readonly T[] =>
  Array.isArray(value) ? (value as readonly T[]) : [value as T];

const wrapped = (x: HostTensor): HostTensor =>
  isInteger(x.dtype) ? { ...x, data: x.data.map((value) => wrapWhole(value, x.dtype)) } : x;

/** The part of an op that does not depend on its type parameters. */
interface OpHead {
  readonly name: string;
  readonly summary: string;
  readonly arity: Arity;
  readonly operands: readonly string[];
  readonly outputs: OutputCount;
  readonly results?: readonly string[];
  readonly attributes: object;
  readonly regionNames?: readonly string[];
  readonly traits: readonly Trait[];
  readonly moves?: Moves;
}

/**
 * Forgets the types of one op. Sound because the builder checks arity and attributes before any
 * rule runs; the casts are the only place where that promise is spent.
 */
export function eraseOp(op: OpHead): AnyOp {
  const erased = op as unknown as Op<string, AttrRecord, AnyNumber, OutputCount>;
  return {
    name: op.name,
    summary: op.summary,
    arity: rangeOf(op.arity),
    operands: op.operands,
    operandsBy: erased.operandsBy,
    results: op.results ?? [],
    moves: op.moves,
    schema: op.attributes as AnyAttrSchema,
    regionNames: op.regionNames ?? [],
    traits: op.traits,
    outputCount: op.outputs,
    inferTypes: (inputs, attrs, regions) => asList(erased.infer(inputs, attrs, regions)),
    // Whole numbers wrap in one place, whatever an op's arithmetic is.
    reference: op.traits.includes("movement")
      ? (inputs, attrs, types) =>
          moveParts(inputs, types, (parts, plain) => asList(erased.reference(parts, attrs, plain)))
      : (inputs, attrs, types, regions) => asList(erased.reference(inputs, attrs, types, regions)).map(wrapped),
    oracle: erased.oracle,
    gradient: erased.gradient,
    tangent: erased.tangent,
    batching: erased.batching,
    backends: erased.backends,
    samples: erased.samples,
  };
}
