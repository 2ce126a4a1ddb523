import type { Binary } from "../families/binary.ts";
import { logicOp } from "../families/logic.ts";

export const logical_and: Binary<"logical_and"> = logicOp("logical_and", {
  summary: "True where both are.",
  reference: (a, b) => a & b,
  oracle: { numpy: "np.logical_and(x0, x1)" },
  mlx: "logical_and",
});
