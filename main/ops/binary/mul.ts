import { mlxCall } from "../../backends/mlx/rules.ts";
import { multiplyWhole } from "../../ir/wholeNumbers.ts";
import type { Binary } from "../families/binary.ts";
import { binaryOp, binarySamples, cpuBinary, milBinary } from "../families/binary.ts";

export const mul: Binary<"mul"> = binaryOp("mul", {
  summary: "Product of two tensors, element by element, with broadcasting.",
  reference: multiplyWhole,
  oracle: { numpy: "x0 * x1" },
  // d(ab) = b da + a db
  gradient: ({ g, ct, inputs: [a, b] }) => [g.mul([ct, b]), g.mul([ct, a])],
  traits: ["commutative"],
  backends: { cpu: cpuBinary("mul"), coreml: milBinary("mul"), mlx: mlxCall("multiply", { takes: "numbers" }) },
  samples: binarySamples,
});
