import type { Binary } from "../families/binary.ts";
import { bitOp, bitPairs } from "../families/logic.ts";

export const bit_or: Binary<"bit_or"> = bitOp("bit_or", {
  summary: "The bits that one of two whole numbers has, or both.",
  traits: ["commutative"],
  reference: (a, b) => a | b,
  oracle: { numpy: "x0 | x1" },
  mlx: "bitwise_or",
  samples: bitPairs,
});
