import { milUnary } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { realSamples, elementwiseBatching, inferUnary, referenceUnary, logistic } from "../families/unary.ts";
import { scalarLike } from "../families/constants.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";

export const sigmoid: Op<"sigmoid", NoAttrs, 1> = defineOp({
  name: "sigmoid",
  summary: "1 / (1 + e^-x).",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("sigmoid"),
  reference: referenceUnary(logistic),
  oracle: { numpy: "scipy.special.expit(x0)" },
  // dσ = σ (1 - σ) dx
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, outputs: [y = ct] }) => [g.mul([ct, g.mul([y, g.sub([scalarLike(g, ct, 1), y])])])],
  },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise"],
  backends: { cpu: cpuKernel("sigmoid", { takes: REALS }), coreml: milUnary("sigmoid"), mlx: mlxCall("sigmoid") },
  samples: realSamples,
});
