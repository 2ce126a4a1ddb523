import { milUnary } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { realSamples, elementwiseBatching, inferUnary, referenceUnary } from "../families/unary.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";

export const sin: Op<"sin", NoAttrs, 1> = defineOp({
  name: "sin",
  summary: "Sine.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("sin"),
  reference: referenceUnary(Math.sin),
  oracle: { numpy: "np.sin(x0)" },
  gradient: { kind: "vjp", rule: ({ g, ct, inputs: [x] }) => [g.mul([ct, g.cos([x])])] },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise"],
  backends: { cpu: cpuKernel("sin", { takes: REALS }), coreml: milUnary("sin"), mlx: mlxCall("sin") },
  samples: realSamples,
});
