import { mlxCall } from "../../backends/mlx/rules.ts";
import type { Binary } from "../families/binary.ts";
import { binaryOp, binarySamples, cpuBinary, milBinary, selectGradient } from "../families/binary.ts";

export const minimum: Binary<"minimum"> = binaryOp("minimum", {
  summary: "The smaller of two tensors, element by element, with broadcasting.",
  reference: (a, b) => Math.min(a, b),
  oracle: { numpy: "np.minimum(x0, x1)" },
  gradient: (context) => selectGradient(context, "lt"),
  traits: ["commutative", "idempotent"],
  backends: { cpu: cpuBinary("min"), coreml: milBinary("minimum"), mlx: mlxCall("minimum", { takes: "numbers" }) },
  samples: binarySamples,
});
