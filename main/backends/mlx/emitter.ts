/**
 * What an op file sees of the MLX backend: a writer of calls over MLX arrays, only types. The recipes that several ops
 * share are in `rules.ts`, the one file of this folder whose code op files call.
 */
import type { AttrRecord } from "../../ir/attributes.ts";
import type { Dim } from "../../ir/dim.ts";
import type { Graph } from "../../ir/graph.ts";
import type { TensorType } from "../../ir/type.ts";
import type { NodeInfo } from "../../ir/nodeInfo.ts";
import type { MlxFunction } from "./functions.ts";

export interface MlxValue {
  readonly id: number;
  readonly type: TensorType;
}

/** Numbers and sizes; symbols are bound when the plan runs. Words are told apart from symbols by their box. */
export type MlxAttr = Dim | readonly Dim[] | boolean | { readonly word: string };
export type MlxAttrs = Readonly<Record<string, MlxAttr>>;

export interface LoopAttrs {
  readonly carried: number;
  readonly maxIterations?: Dim;
}

export interface ScanTurns {
  readonly carried: number;
  readonly scanned: number;
  readonly length: Dim;
  readonly reverse: boolean;
}

export interface MlxEmitter {
  /** One call. The same call on the same operands is made once. */
  readonly call: (
    name: MlxFunction,
    inputs: readonly MlxValue[],
    outputs: readonly TensorType[],
    attrs?: MlxAttrs,
  ) => readonly MlxValue[];
  /** As `call`, for functions with one result. */
  readonly one: (name: MlxFunction, inputs: readonly MlxValue[], output: TensorType, attrs?: MlxAttrs) => MlxValue;
  /** Rows written into a cache behind `past` positions; where the host gives `past`, it checks the room before the run. */
  readonly append: (cache: MlxValue, fresh: MlxValue, past: MlxValue, ring: boolean) => MlxValue;
  /** Where the host gives `past`, it checks before the run that a ring holds a step and so many rows before it. */
  readonly checkRing: (cache: MlxValue, past: MlxValue, tokens: Dim, reach: number) => void;
  /** `if`: the predicate and what the sub-graphs are handed; one of them runs. */
  readonly branch: (
    inputs: readonly MlxValue[],
    regions: readonly Graph[],
    outputs: readonly TensorType[],
  ) => readonly MlxValue[];
  /** `while`: the carried operands, which are the results, and those that stay. */
  readonly loop: (inputs: readonly MlxValue[], regions: readonly Graph[], attrs: LoopAttrs) => readonly MlxValue[];
  /** `scan`: the carried operands, those that stay, and those whose rows are read. */
  readonly scan: (
    inputs: readonly MlxValue[],
    regions: readonly Graph[],
    attrs: ScanTurns,
    outputs: readonly TensorType[],
  ) => readonly MlxValue[];
  /** True when the host can check, before a run, that all these indices are below `size`; it then does. */
  readonly checks: (indices: MlxValue, size: Dim) => boolean;
}

/** A native `mlx` entry of an op, as the lowering sees it. */
export interface MlxRule {
  readonly emit: (
    emitter: MlxEmitter,
    inputs: readonly MlxValue[],
    attrs: AttrRecord,
    node: NodeInfo<AttrRecord>,
  ) => MlxValue | readonly MlxValue[];
}
export type MlxRules = (op: string) => MlxRule | string;
