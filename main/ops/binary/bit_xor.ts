import type { Binary } from "../families/binary.ts";
import { bitOp, bitPairs } from "../families/logic.ts";

export const bit_xor: Binary<"bit_xor"> = bitOp("bit_xor", {
  summary: "The bits that one of two whole numbers has, and not both.",
  traits: ["commutative"],
  reference: (a, b) => a ^ b,
  oracle: { numpy: "x0 ^ x1" },
  mlx: "bitwise_xor",
  samples: bitPairs,
});
