import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import {
  binarySamples,
  broadcastBatching,
  cpuBinary,
  inferBinary,
  milBinary,
  referenceBinary,
  selectGradient,
} from "../families/binary.ts";

export const maximum: Op<"maximum", NoAttrs, 2> = defineOp({
  name: "maximum",
  summary: "The larger of two tensors, element by element, with broadcasting.",
  arity: 2,
  operands: ["left", "right"],
  outputs: "one",
  attributes: {},
  infer: inferBinary("maximum"),
  reference: referenceBinary((a, b) => Math.max(a, b)),
  oracle: { numpy: "np.maximum(x0, x1)" },
  gradient: { kind: "vjp", rule: (context) => selectGradient(context, "gt") },
  batching: broadcastBatching,
  traits: ["pure", "elementwise", "commutative", "idempotent"],
  backends: { cpu: cpuBinary("max"), coreml: milBinary("maximum"), mlx: mlxCall("maximum", { takes: "numbers" }) },
  samples: binarySamples,
});
