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

export const sub: Op<"sub", NoAttrs, 2> = defineOp({
  name: "sub",
  summary: "Difference of two tensors, element by element, with broadcasting.",
  arity: 2,
  operands: ["left", "right"],
  outputs: "one",
  attributes: {},
  infer: inferBinary("sub"),
  reference: referenceBinary((a, b) => a - b),
  oracle: { numpy: "x0 - x1" },
  // d(a-b) = da - db
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [a, b] }) => [unbroadcast(g, ct, a), unbroadcast(g, g.neg([ct]), b)],
  },
  batching: broadcastBatching,
  traits: ["pure", "elementwise"],
  backends: { cpu: cpuBinary("sub"), coreml: milBinary("sub"), mlx: mlxCall("subtract", { takes: "numbers" }) },
  samples: binarySamples,
});
