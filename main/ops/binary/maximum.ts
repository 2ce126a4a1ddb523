import { mlxCall } from "../../backends/mlx/rules.ts";
import type { Binary } from "../families/binary.ts";
import { binaryOp, binarySamples, cpuBinary, milBinary, selectGradient } from "../families/binary.ts";

export const maximum: Binary<"maximum"> = binaryOp("maximum", {
  summary: "The larger of two tensors, element by element, with broadcasting.",
  reference: (a, b) => Math.max(a, b),
  oracle: { numpy: "np.maximum(x0, x1)" },
  gradient: (context) => selectGradient(context, "gt"),
  traits: ["commutative", "idempotent"],
  backends: { cpu: cpuBinary("max"), coreml: milBinary("maximum"), mlx: mlxCall("maximum", { takes: "numbers" }) },
  samples: binarySamples,
});
