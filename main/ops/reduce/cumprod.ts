import { multiplyWhole } from "../../ir/wholeNumbers.ts";
import type { Op } from "../defineOp.ts";
import type { RunningAttrs } from "../families/running.ts";
import { accumulated, runningOp } from "../families/running.ts";

export const cumprod: Op<"cumprod", RunningAttrs, 1> = runningOp("cumprod", {
  summary: "Running product along one axis.",
  kind: "prod",
  fold: multiplyWhole,
  start: () => 1,
  oracle: accumulated("np.multiply"),
});
