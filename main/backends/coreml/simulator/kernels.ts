/** Runs one operator of a program; what each means stands in mil/operators. */
import { MIL_OPERATORS } from "../mil/operators/index.ts";
import type { MilTensorType } from "../mil/types.ts";
import { Arguments } from "./kernel.ts";
import type { SimTensor } from "./tensor.ts";
import { simError } from "./tensor.ts";

/** Operators the simulator runs, besides const and state access. */
export const SIMULATED_OPS: readonly string[] = [...MIL_OPERATORS].flatMap(([name, { run }]) => (run ? [name] : []));

export function runKernel(
  type: string,
  values: ReadonlyMap<string, readonly SimTensor[]>,
  outputs: readonly MilTensorType[],
): readonly SimTensor[] {
  const run = MIL_OPERATORS.get(type)?.run ?? simError(type, "the simulator does not run this operator");
  const made = run(new Arguments(type, values, outputs));
  return Array.isArray(made) ? (made as readonly SimTensor[]) : [made as SimTensor];
}
