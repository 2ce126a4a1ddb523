import { milUnary } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { realSamples, elementwiseBatching, inferUnary, referenceUnary } from "../families/unary.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";

export const exp: Op<"exp", NoAttrs, 1> = defineOp({
  name: "exp",
  summary: "e to the power of x.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("exp"),
  reference: referenceUnary(Math.exp),
  oracle: { numpy: "np.exp(x0)" },
  // d e^x = e^x dx
  gradient: { kind: "vjp", rule: ({ g, ct, outputs: [y = ct] }) => [g.mul([ct, y])] },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise", "sensitive"],
  backends: { cpu: cpuKernel("exp", { takes: REALS }), coreml: milUnary("exp"), mlx: mlxCall("exp") },
  samples: realSamples,
});
