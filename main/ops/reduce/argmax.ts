import type { Op } from "../defineOp.ts";
import type { ExtremeAttrs } from "../families/extreme.ts";
import { extremePosition } from "../families/extreme.ts";

export const argmax: Op<"argmax", ExtremeAttrs, 1> = extremePosition("argmax", "largest", (a, b) => a > b);
