import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { multiplyWhole } from "../../ir/wholeNumbers.ts";
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

export const mul: Op<"mul", NoAttrs, 2> = defineOp({
  name: "mul",
  summary: "Product of two tensors, element by element, with broadcasting.",
  arity: 2,
  operands: ["left", "right"],
  outputs: "one",
  attributes: {},
  infer: inferBinary("mul"),
  reference: referenceBinary(multiplyWhole),
  oracle: { numpy: "x0 * x1" },
  // d(ab) = b da + a db
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [a, b] }) => [unbroadcast(g, g.mul([ct, b]), a), unbroadcast(g, g.mul([ct, a]), b)],
  },
  batching: broadcastBatching,
  traits: ["pure", "elementwise", "commutative"],
  backends: { cpu: cpuBinary("mul"), coreml: milBinary("mul"), mlx: mlxCall("multiply", { takes: "numbers" }) },
  samples: binarySamples,
});
