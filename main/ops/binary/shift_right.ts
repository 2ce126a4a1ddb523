import type { Binary } from "../families/binary.ts";
import { bitOp, shiftPairs } from "../families/logic.ts";

export const shift_right: Binary<"shift_right"> = bitOp("shift_right", {
  summary:
    "Bits moved down by a count, the sign behind them; a count outside the bits of the type leaves the sign alone.",
  operands: ["x", "count"],
  reference: (a, b, bits) => (b >= 0n && b < bits ? a >> b : a < 0n ? -1n : 0n),
  oracle: { numpy: "np.right_shift(x0, x1)" },
  mlx: "right_shift",
  samples: shiftPairs,
});
