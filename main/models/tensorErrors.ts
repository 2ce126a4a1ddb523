/** Why a file's tensors make no graph: one is missing, or has another shape than its keys say. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Shape } from "../ir/dim.ts";
import { sameShape } from "../ir/type.ts";

/** The same sizes but for sizes of 1 in front, which ggml does not tell apart: a row of RWKV is [1, 1, width] in its files. */
export function sameButOnes(a: Shape, b: Shape): boolean {
  const bare = (shape: Shape): Shape => shape.slice(shape.findIndex((size) => size !== 1));
  return sameShape(bare(a), bare(b));
}

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
