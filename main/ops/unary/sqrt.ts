import { milUnary } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { positiveSamples, elementwiseBatching, inferUnary, referenceUnary } from "../families/unary.ts";
import { scalarLike } from "../families/constants.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";

export const sqrt: Op<"sqrt", NoAttrs, 1> = defineOp({
  name: "sqrt",
  summary: "Square root.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("sqrt"),
  reference: referenceUnary(Math.sqrt),
  oracle: { numpy: "np.sqrt(x0)" },
  // d √x = dx / 2√x
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, outputs: [y = ct] }) => [g.div([g.mul([ct, scalarLike(g, ct, 0.5)]), y])],
  },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise", "sensitive"],
  backends: { cpu: cpuKernel("sqrt", { takes: REALS }), coreml: milUnary("sqrt"), mlx: mlxCall("sqrt") },
  samples: positiveSamples,
});
