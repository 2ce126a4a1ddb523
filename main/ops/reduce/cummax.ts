import { wholeRange } from "../../ir/wholeNumbers.ts";
import type { Op } from "../defineOp.ts";
import type { RunningAttrs } from "../families/running.ts";
import { accumulated, runningOp } from "../families/running.ts";

export const cummax: Op<"cummax", RunningAttrs, 1> = runningOp("cummax", {
  summary: "The largest number so far along one axis; NaN from the first NaN on.",
  kind: "max",
  fold: (a, b) => Math.max(a, b),
  start: (dtype) => wholeRange(dtype)?.[0] ?? -Infinity,
  oracle: accumulated("np.maximum"),
});
