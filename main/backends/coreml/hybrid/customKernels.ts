/**
 * Host functions for `custom` ops between Core ML parts: what one is, and that it gives what its node says. They are known by
 * name above the backends (`registerCoremlKernel` in `main/ops/signal/customKernels.ts`), and the runner is told how to ask.
 */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { HostTensor } from "../../../ir/hostTensor.ts";
import type { TensorType } from "../../../ir/type.ts";
import { formatType } from "../../../ir/type.ts";

export type CoremlKernel = (
  inputs: readonly HostTensor[],
  outputTypes: readonly TensorType[],
) => readonly HostTensor[] | Promise<readonly HostTensor[]>;

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
