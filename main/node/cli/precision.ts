/** `--precision`: in which floats a graph is computed; `--cache-type`: in which types keys and values are kept. */
import type { Precision } from "../../contract/views/graph.ts";
import { precision as precisions } from "../../contract/views/graph.ts";
import type { CacheType } from "../../contract/views/common.ts";
import { cacheType } from "../../contract/views/common.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";

export function precisionNamed(text: string): Precision {
  const found = precisions.options.find((each) => each === text);
  if (found !== undefined) return found;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --precision: got ${text}, expected f32, mixed or f16`);
}

/** Of `--cache-type`; null without it. */
export const cacheTypeGiven = (text: string | undefined): CacheType | null =>
  text === undefined ? null : cacheTypeNamed("cache-type", text);

export function cacheTypeNamed(option: string, text: string): CacheType {
  const found = cacheType.options.find((each) => each === text);
  if (found !== undefined) return found;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[rlx] --${option}: got ${text}, expected ${cacheType.options.join(", ")}`,
  );
}
