/**
 * Output types of the operators that this backend emits. An operator that is not in mil/operators cannot be emitted: the error
 * says so, and a test walks the list against coremltools' own inference.
 */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import { MIL_OPERATORS } from "./operators/index.ts";
import type { InferArguments } from "./reader.ts";
import { Reader } from "./reader.ts";
import type { MilTensorType } from "./types.ts";

/** Operators this backend can emit. */
export const EMITTED_OPS: readonly string[] = [...MIL_OPERATORS.keys()];

export function inferOutputs(type: string, args: InferArguments): readonly MilTensorType[] {
  const operator = MIL_OPERATORS.get(type);
  if (operator === undefined)
    throw new WorkbenchError("UNSUPPORTED_OP", `[${type}] this backend does not emit the operator`, {
      hint: "Add it to a family in main/backends/coreml/mil/operators.",
    });
  return operator.infer(new Reader(type, args));
}
