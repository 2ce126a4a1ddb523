/** Runs one operator of a program; what each means stands in mil/operators. */
import { MIL_OPERATORS } from "../mil/operators/index.ts";
import type { MilTensorType } from "../mil/types.ts";
import { Arguments } from "./kernel.ts";
import type { PackageTensor } from "../package/packageTensor.ts";
import { simError } from "./tensor.ts";

/** Operators the simulator runs, besides const and state access. */
export const SIMULATED_OPS: readonly string[] = [...MIL_OPERATORS].flatMap(([name, { run }]) => (run ? [name] : []));

export function runKernel(
  type: string,
  values: ReadonlyMap<string, readonly PackageTensor[]>,
  outputs: readonly MilTensorType[],
): readonly PackageTensor[] {
  const run = MIL_OPERATORS.get(type)?.run ?? simError(type, "the simulator does not run this operator");
  const made = run(new Arguments(type, values, outputs));
  return Array.isArray(made) ? (made as readonly PackageTensor[]) : [made as PackageTensor];
}
