/**
 * One MIL operator, one value: the types of its results, what it computes (the simulator), and what it costs (the plan). The values
 * stand in the files of their families beside this one.
 */
import type { Kernel } from "../../simulator/kernel.ts";
import type { Reader } from "../reader.ts";
import type { MilConstant, MilDtype, MilTensorType, MilType } from "../types.ts";
import { isMilDtype } from "../types.ts";

export type Infer = (a: Reader) => readonly MilTensorType[];

/** An operand as far as costs depend on it. */
export interface ArgumentFact {
  readonly type: MilType;
  readonly constness: "computed" | "const" | "constexpr";
  /** Present for constants that are parameters: axes, paddings, names. */
  readonly constant?: MilConstant;
  /** For constexprs: how many blocks share a row, 1 = one scale per row. */
  readonly blocksPerRow?: number;
  /** For constexprs: places in tables, which the Neural Engine reads as they are. */
  readonly palette?: true;
  /** Bytes as stored: packed for weights. */
  readonly bytes: number;
}

export interface MilOperator {
  readonly infer: Infer;
  /** Absent for access to states, which the simulator does by itself. */
  readonly run?: Kernel;
  /** Operations, multiply-adds as two; `out` is the number of results. One for each element when absent. */
  readonly flops?: (out: number, inputs: ReadonlyMap<string, ArgumentFact>) => number;
  /** Only relabels memory, or has no work at run time. */
  readonly free?: true;
  /** Reads the rows that it picks, not the table. */
  readonly picks?: true;
}

export type Operators = Readonly<Record<string, MilOperator>>;

/** Operators that differ in what they compute alone. */
export const each = (shared: Omit<MilOperator, "run">, kernels: Readonly<Record<string, Kernel>>): Operators =>
  Object.fromEntries(Object.entries(kernels).map(([name, run]) => [name, { ...shared, run }]));

/** The type of `x`. */
export const same: Infer = (a) => [a.tensor("x")];

/** Exponentials and the like. */
export const EIGHT_EACH: Pick<MilOperator, "flops"> = { flops: (out) => 8 * out };

export function namedDtype(a: Reader, argument: string): MilDtype {
  if (!a.has(argument)) return "int32";
  const name = a.string(argument);
  return isMilDtype(name) ? name : a.fail(`unknown element type ${name}`);
}
