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
} from "../families/binary.ts";
import { unbroadcast } from "../families/unbroadcast.ts";

export const add: Op<"add", NoAttrs, 2> = defineOp({
  name: "add",
  summary: "Sum of two tensors, element by element, with NumPy broadcasting.",
  arity: 2,
  operands: ["left", "right"],
  outputs: "one",
  attributes: {},
  infer: inferBinary("add"),
  reference: referenceBinary((a, b) => a + b),
  oracle: { numpy: "x0 + x1" },
  // d(a+b) = da + db
  gradient: { kind: "vjp", rule: ({ g, ct, inputs: [a, b] }) => [unbroadcast(g, ct, a), unbroadcast(g, ct, b)] },
  batching: broadcastBatching,
  traits: ["pure", "elementwise", "commutative"],
  backends: { cpu: cpuBinary("add"), coreml: milBinary("add"), mlx: mlxCall("add", { takes: "numbers" }) },
  samples: binarySamples,
});
