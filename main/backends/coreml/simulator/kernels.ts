/** Every operator that the simulator runs, by name; what each means stands in the files of its family. */
import type { MilTensorType } from "../mil/types.ts";
import { CONSTEXPR } from "./constexpr.ts";
import { CONVOLUTION } from "./convolution.ts";
import { ELEMENTWISE } from "./elementwise.ts";
import type { Kernel } from "./kernel.ts";
import { Arguments } from "./kernel.ts";
import { LINEAR } from "./linear.ts";
import { REDUCE } from "./reduce.ts";
import { SHAPE } from "./shape.ts";
import type { SimTensor } from "./tensor.ts";
import { simError } from "./tensor.ts";

const KERNELS: Readonly<Record<string, Kernel>> = {
  ...ELEMENTWISE,
  ...REDUCE,
  ...LINEAR,
  ...CONVOLUTION,
  ...SHAPE,
  ...CONSTEXPR,
};

/** Operators the simulator runs, besides const and state access. */
export const SIMULATED_OPS: readonly string[] = Object.keys(KERNELS);

/** Runs one operator. */
export function runKernel(
  type: string,
  values: ReadonlyMap<string, readonly SimTensor[]>,
  outputs: readonly MilTensorType[],
): readonly SimTensor[] {
  const kernel = KERNELS[type] ?? simError(type, "the simulator does not run this operator");
  const made = kernel(new Arguments(type, values, outputs));
  return Array.isArray(made) ? (made as readonly SimTensor[]) : [made as SimTensor];
}
