/**
 * What an op file sees of the CPU backend: a writer of native plan instructions, only types. The recipes that several
 * ops share are in `rules.ts`, the one file of this folder whose code op files call.
 */
import type { Dim } from "../../ir/dim.ts";
import type { Graph } from "../../ir/graph.ts";
import type { TensorType } from "../../ir/type.ts";
import type { CpuKernel } from "./kernels.ts";

export interface CpuValue {
  readonly id: number;
  readonly type: TensorType;
}

/** Numbers and sizes of an instruction; symbols are bound when the plan runs. */
export type KernelParams = Readonly<Record<string, Dim | readonly Dim[] | boolean>>;

export interface CpuEmitter {
  /** One instruction. Inputs and outputs are row-major and contiguous; undefined where an optional operand is missing. */
  readonly instr: (
    kernel: CpuKernel,
    inputs: readonly (CpuValue | undefined)[],
    outputs: readonly TensorType[],
    params?: KernelParams,
  ) => readonly CpuValue[];
  /** As `instr`, for kernels with one output. */
  readonly one: (kernel: CpuKernel, inputs: readonly CpuValue[], output: TensorType, params?: KernelParams) => CpuValue;
  /** The same memory under another shape. */
  readonly view: (value: CpuValue, type: TensorType) => CpuValue;
  /** `if`: the predicate and what the sub-graphs are handed; one of them runs. */
  readonly branch: (
    inputs: readonly CpuValue[],
    regions: readonly Graph[],
    outputs: readonly TensorType[],
  ) => readonly CpuValue[];
  /** `while`: the carried operands, which are the results, and those that stay. */
  readonly loop: (
    inputs: readonly CpuValue[],
    regions: readonly Graph[],
    attrs: { readonly carried: number; readonly maxIterations?: Dim },
  ) => readonly CpuValue[];
  /** `scan`: the carried operands, those that stay, and those whose rows are read; gives what is carried, and the rows of all turns. */
  readonly scan: (
    inputs: readonly CpuValue[],
    regions: readonly Graph[],
    attrs: { readonly carried: number; readonly scanned: number; readonly length: Dim; readonly reverse: boolean },
    outputs: readonly TensorType[],
  ) => readonly CpuValue[];
}
