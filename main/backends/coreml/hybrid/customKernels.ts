/**
 * Host functions for `custom` ops in Core ML programs, by name. A function registered here is called between Core ML parts;
 * without one the host executor runs the op (by its reference).
 */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { HostTensor } from "../../../ir/hostTensor.ts";
import type { TensorType } from "../../../ir/type.ts";
import { formatType } from "../../../ir/type.ts";

export type CoremlKernel = (
  inputs: readonly HostTensor[],
  outputTypes: readonly TensorType[],
) => readonly HostTensor[] | Promise<readonly HostTensor[]>;

const kernels = new Map<string, CoremlKernel>();

/** Returns what undoes it. A name is taken once. */
export function registerCoremlKernel(name: string, kernel: CoremlKernel): () => void {
  if (kernels.has(name))
    throw new WorkbenchError("IR_STRUCTURE", `[coreml] a host kernel named "${name}" is registered already`);
  kernels.set(name, kernel);
  return () => {
    if (kernels.get(name) === kernel) kernels.delete(name);
  };
}

export const coremlKernel = (name: string): CoremlKernel | undefined => kernels.get(name);

/** Runs a kernel and checks that it gave what its node says. */
export async function runCoremlKernel(
  name: string,
  kernel: CoremlKernel,
  inputs: readonly HostTensor[],
  types: readonly TensorType[],
): Promise<readonly HostTensor[]> {
  const made = await kernel(inputs, types);
  const fits =
    made.length === types.length &&
    made.every((value, i) => types[i] !== undefined && formatType(value) === formatType(types[i]));
  if (fits) return made;
  throw new WorkbenchError(
    "RUN_FAILED",
    `[coreml] kernel "${name}" gave ${made.map(formatType).join(", ") || "nothing"}, its node says ${types.map(formatType).join(", ")}`,
  );
}
