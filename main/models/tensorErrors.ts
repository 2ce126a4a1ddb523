/** Why a file's tensors make no graph: one is missing, or has another shape than its keys say. */
import { WorkbenchError } from "../diagnostics/errors.ts";

export const noTensor = (source: string, name: string): WorkbenchError =>
  new WorkbenchError("INPUT_MISSING_TENSOR", `[${source}] the file has no tensor "${name}"`, {
    hint: "The file is incomplete; convert or download it again.",
    details: { tensor: name },
  });

export const wrongShape = (
  source: string,
  name: string,
  got: string,
  expected: readonly (number | string)[],
): WorkbenchError =>
  new WorkbenchError("INPUT_MALFORMED", `[${source}] tensor "${name}": got ${got}, expected [${expected.join(",")}]`, {
    hint: "The file's keys and tensors contradict each other; convert the model again.",
  });
