/** `--precision`: in which floats a graph is computed. */
import type { Precision } from "../../contract/views/graph.ts";
import { precision as precisions } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";

export function precisionNamed(text: string): Precision {
  const found = precisions.options.find((each) => each === text);
  if (found !== undefined) return found;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --precision: got ${text}, expected f32, mixed or f16`);
}
