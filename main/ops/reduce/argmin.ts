import type { Op } from "../defineOp.ts";
import type { ExtremeAttrs } from "../families/extreme.ts";
import { extremePosition } from "../families/extreme.ts";

export const argmin: Op<"argmin", ExtremeAttrs, 1> = extremePosition("argmin", "smallest", (a, b) => a < b);
