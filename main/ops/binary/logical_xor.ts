import type { Binary } from "../families/binary.ts";
import { logicOp } from "../families/logic.ts";

export const logical_xor: Binary<"logical_xor"> = logicOp("logical_xor", {
  summary: "True where one of two is, and not both.",
  reference: (a, b) => a ^ b,
  oracle: { numpy: "np.logical_xor(x0, x1)" },
  mlx: (g, [a, b]) => g.compare([a, b], { op: "ne" }),
});
