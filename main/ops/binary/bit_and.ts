import type { Binary } from "../families/binary.ts";
import { bitOp, bitPairs } from "../families/logic.ts";

export const bit_and: Binary<"bit_and"> = bitOp("bit_and", {
  summary: "The bits that both whole numbers have.",
  traits: ["commutative"],
  reference: (a, b) => a & b,
  oracle: { numpy: "x0 & x1" },
  mlx: "bitwise_and",
  samples: bitPairs,
});
