import { mlxCall } from "../../backends/mlx/rules.ts";
import type { Binary } from "../families/binary.ts";
import { binaryOp, binarySamples, cpuBinary, milBinary } from "../families/binary.ts";

export const add: Binary<"add"> = binaryOp("add", {
  summary: "Sum of two tensors, element by element, with NumPy broadcasting.",
  reference: (a, b) => a + b,
  oracle: { numpy: "x0 + x1" },
  // d(a+b) = da + db
  gradient: ({ ct }) => [ct, ct],
  traits: ["commutative"],
  backends: { cpu: cpuBinary("add"), coreml: milBinary("add"), mlx: mlxCall("add", { takes: "numbers" }) },
  samples: binarySamples,
});
