import { milUnary } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { realSamples, elementwiseBatching, inferUnary, referenceUnary } from "../families/unary.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";

export const cos: Op<"cos", NoAttrs, 1> = defineOp({
  name: "cos",
  summary: "Cosine.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("cos"),
  reference: referenceUnary(Math.cos),
  oracle: { numpy: "np.cos(x0)" },
  gradient: { kind: "vjp", rule: ({ g, ct, inputs: [x] }) => [g.neg([g.mul([ct, g.sin([x])])])] },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise"],
  backends: { cpu: cpuKernel("cos", { takes: REALS }), coreml: milUnary("cos"), mlx: mlxCall("cos") },
  samples: realSamples,
});
