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

export const minimum: Op<"minimum", NoAttrs, 2> = defineOp({
  name: "minimum",
  summary: "The smaller of two tensors, element by element, with broadcasting.",
  arity: 2,
  operands: ["left", "right"],
  outputs: "one",
  attributes: {},
  infer: inferBinary("minimum"),
  reference: referenceBinary((a, b) => Math.min(a, b)),
  oracle: { numpy: "np.minimum(x0, x1)" },
  gradient: { kind: "vjp", rule: (context) => selectGradient(context, "lt") },
  batching: broadcastBatching,
  traits: ["pure", "elementwise", "commutative", "idempotent"],
  backends: { cpu: cpuBinary("min"), coreml: milBinary("minimum"), mlx: mlxCall("minimum", { takes: "numbers" }) },
  samples: binarySamples,
});
