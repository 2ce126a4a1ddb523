import { milUnary } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { realSamples, elementwiseBatching, inferUnary, referenceUnary } from "../families/unary.ts";
import { scalarLike } from "../families/constants.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";

export const tanh: Op<"tanh", NoAttrs, 1> = defineOp({
  name: "tanh",
  summary: "Hyperbolic tangent.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("tanh"),
  reference: referenceUnary(Math.tanh),
  oracle: { numpy: "np.tanh(x0)" },
  // d tanh x = (1 - tanh² x) dx
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, outputs: [y = ct] }) => [g.mul([ct, g.sub([scalarLike(g, ct, 1), g.mul([y, y])])])],
  },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise"],
  backends: { cpu: cpuKernel("tanh", { takes: REALS }), coreml: milUnary("tanh"), mlx: mlxCall("tanh") },
  samples: realSamples,
});
