/**
 * Host functions behind the `custom` op, by name. A graph names a custom op and its output types, so it can be built,
 * printed and routed anywhere; to run it, the program that opens it must have registered a function of that name.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface CustomKernel {
  readonly summary: string;
  readonly run: (inputs: readonly HostTensor[], outputTypes: readonly TensorType[]) => readonly HostTensor[];
  /** One cotangent per input. Without it the op has no gradient. */
  readonly vjp?: (
    g: OpBuilder,
    inputs: readonly Value[],
    outputs: readonly Value[],
    cotangents: readonly (Value | undefined)[],
  ) => readonly (Value | undefined)[];
}

const kernels = new Map<string, CustomKernel>();

/** Returns what undoes it. A name is taken once. */
export function registerCustomKernel(name: string, kernel: CustomKernel): () => void {
  if (kernels.has(name))
    throw new WorkbenchError("IR_STRUCTURE", `[custom] a kernel named "${name}" is registered already`);
  kernels.set(name, kernel);
  return () => {
    if (kernels.get(name) === kernel) kernels.delete(name);
  };
}

export const customKernelNames = (): readonly string[] => [...kernels.keys()].sort();

export function customKernel(name: string): CustomKernel {
  const kernel = kernels.get(name);
  if (!kernel)
    throw new WorkbenchError(
      "UNSUPPORTED_OP",
      `[custom] no kernel named "${name}" is registered: have ${customKernelNames().join(", ") || "none"}`,
      {
        hint: "Register the host function before running the graph.",
      },
    );
  return kernel;
}

// The one that the demo graph and the samples use: shrinks every number towards zero by a threshold.
export const SOFT_THRESHOLD = "soft_threshold";
const THRESHOLD = 0.1;
registerCustomKernel(SOFT_THRESHOLD, {
  summary: `sign(x) · max(|x| - ${THRESHOLD}, 0)`,
  run: ([x]) =>
    x
      ? [
          {
            dtype: x.dtype,
            shape: x.shape,
            data: x.data.map((v) => Math.sign(v) * Math.max(Math.abs(v) - THRESHOLD, 0)),
          },
        ]
      : [],
  vjp: (g, _inputs, [y], [ct]) => [y && ct ? g.mul([ct, g.abs([g.sign([y])])]) : undefined],
});
