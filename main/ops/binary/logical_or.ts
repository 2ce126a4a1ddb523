import type { Binary } from "../families/binary.ts";
import { logicOp } from "../families/logic.ts";

export const logical_or: Binary<"logical_or"> = logicOp("logical_or", {
  summary: "True where one of two is, or both.",
  reference: (a, b) => a | b,
  oracle: { numpy: "np.logical_or(x0, x1)" },
  mlx: "logical_or",
});
