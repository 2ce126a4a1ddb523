import { mlxCall } from "../../backends/mlx/rules.ts";
import type { Binary } from "../families/binary.ts";
import { binaryOp, binarySamples, cpuBinary, milBinary } from "../families/binary.ts";

export const sub: Binary<"sub"> = binaryOp("sub", {
  summary: "Difference of two tensors, element by element, with broadcasting.",
  reference: (a, b) => a - b,
  oracle: { numpy: "x0 - x1" },
  // d(a-b) = da - db
  gradient: ({ g, ct }) => [ct, g.neg([ct])],
  backends: { cpu: cpuBinary("sub"), coreml: milBinary("sub"), mlx: mlxCall("subtract", { takes: "numbers" }) },
  samples: binarySamples,
});
