import { decomposed } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import type { Binary } from "../families/binary.ts";
import { bitOp, shiftPairs } from "../families/logic.ts";

export const shift_left: Binary<"shift_left"> = bitOp("shift_left", {
  summary: "Bits moved up by a count, zeros behind them; a count outside the bits of the type moves all of them out.",
  operands: ["x", "count"],
  // x · 2ⁿ: a power that is too large, or of a negative number, is 0.
  coreml: decomposed((g, [x, count]) => g.mul([x, g.pow([scalarLike(g, x, 2), count])])),
  reference: (a, b, bits) => (b >= 0n && b < bits ? a << b : 0n),
  oracle: { numpy: "np.left_shift(x0, x1)" },
  mlx: "left_shift",
  samples: shiftPairs,
});
