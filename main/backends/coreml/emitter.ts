/**
 * What an op file sees of the Core ML backend: a writer of MIL operators, only types. The recipes that several
 * ops share are in `rules.ts`, the one file of this folder whose code op files call.
 *
 * Element types: every IR float becomes `emitter.float` (fp16 or fp32, by profile), every integer int32, bool stays.
 */
import type { ElementType } from "../../ir/dtype.ts";
import type { Graph } from "../../ir/graph.ts";
import type { NodeInfo } from "../../ir/nodeInfo.ts";
import type { MilArgs, MilOpName } from "./mil/ops.generated.ts";
import type { MilDtype, MilOpset, MilValue } from "./mil/types.ts";

export type { MilArgs, MilOpName } from "./mil/ops.generated.ts";
export type { MilDtype, MilOpset, MilValue } from "./mil/types.ts";

export interface CoremlEmitter {
  /** Element type of float arithmetic in this program. */
  readonly float: "fp16" | "fp32";
  readonly opset: MilOpset;
  /** One MIL operator with one output. Literals become constants; optional arguments with a default are written out. */
  readonly op: <N extends MilOpName>(type: N, args: MilArgs[N]) => MilValue;
  /** One MIL operator with several outputs (`split`, `topk`). `count` where the operator does not tell it. */
  readonly ops: <N extends MilOpName>(type: N, args: MilArgs[N], count?: number) => readonly MilValue[];
  readonly constant: (dtype: MilDtype, shape: readonly number[], values: ArrayLike<number>) => MilValue;
  /** What a constant holds, also one of the weight file; undefined for weights of a model and what is computed. */
  readonly numbers: (x: MilValue) => ArrayLike<number> | undefined;
  /** The MIL element type that stands for an IR element type. */
  readonly dtypeOf: (type: ElementType) => MilDtype;
  /** No operator when the type is right already, or was before it became a wider one. */
  readonly cast: (x: MilValue, dtype: MilDtype) => MilValue;
  /** x · weightᵀ (+ bias): weight [out, in], plain or packed. */
  readonly linear: (x: MilValue, weight: MilValue, bias?: MilValue) => MilValue;
  /** Rows of a table [rows, columns], plain, packed or computed, by int32 ids: ids.shape + [columns]. */
  readonly rows: (table: MilValue, ids: MilValue) => MilValue;
  /** A weight, plain or packed, as a plain tensor. Costs operators for split forms: prefer `linear` and `rows`. */
  readonly dense: (weight: MilValue) => MilValue;
  /** Writes `values` [heads, T, size] into `cache` [heads, capacity, size] at position `past` (int32 scalar): the cache after. */
  readonly appendToCache: (cache: MilValue, values: MilValue, past: MilValue) => MilValue;
  /** Attention over keys that may be a cache in any of its forms; masks are made once per function. */
  readonly attention: (args: AttentionArgs) => MilValue;
  /** Makes a value once per function: later calls with the key get the same one. */
  readonly once: (key: string, make: () => MilValue) => MilValue;
  /** `if` as `cond`: the predicate and what the sub-graphs are handed. */
  readonly branch: (inputs: readonly MilValue[], regions: readonly Graph[]) => readonly MilValue[];
  /** `while` as `while_loop`: the carried operands, which are the results, and those that stay. */
  readonly loop: (
    inputs: readonly MilValue[],
    regions: readonly Graph[],
    attrs: { readonly carried: number; readonly maxIterations?: number | string },
  ) => readonly MilValue[];
  /** Fixed sizes of a value; a dimension unknown until run time is an error that names `source`. */
  readonly sizes: (x: MilValue, source: string) => readonly number[];
}

export interface AttentionArgs {
  /** [heads, T, size] */
  readonly query: MilValue;
  /** [kv_heads, S, size]; heads is a multiple of kv_heads. */
  readonly key: MilValue;
  readonly value: MilValue;
  /** int32 scalar: with it, row i sees keys <= past + i. Without, row i sees keys <= i + S - T when `causal`. */
  readonly past?: MilValue | undefined;
  readonly causal: boolean;
  /** Multiplies the scores. */
  readonly scale: number;
  /** c · tanh(score / c) before the mask. */
  readonly softcap?: number | undefined;
  /** Row at position p sees keys > p - window only. */
  readonly window?: number | undefined;
  /** With `past`: row at position p sees keys of its own run of so many positions only. */
  readonly chunk?: number | undefined;
  /** With `past`: one for each head; a score loses slope · (row's position - key's). */
  readonly slopes?: readonly number[] | undefined;
  /** [heads]: scores that take part in the softmax and have no value. */
  readonly sinks?: MilValue | undefined;
}

/** Structurally `Lowering<CoremlEmitter, …>` of main/ops, which this folder must not import. */
export interface CoremlRule<Inputs, Attrs> {
  readonly kind: "native";
  readonly emit: (
    emitter: CoremlEmitter,
    inputs: Inputs,
    attrs: Attrs,
    node: NodeInfo<Attrs>,
  ) => MilValue | readonly MilValue[];
  readonly when?: (node: NodeInfo<Attrs>) => true | string;
  /** As what, where "itself" does not say enough. */
  readonly how?: (node: NodeInfo<Attrs>) => string;
  /** Operands that it calculates with in fp32 in every program: a plain weight that nothing else reads is stored so. */
  readonly reads32?: readonly number[];
  /** The operand that is a matrix whose rows it can calculate in parts. */
  readonly splits?: number;
}
