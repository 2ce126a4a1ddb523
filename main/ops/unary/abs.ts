import { milUnary } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { numberSamples, elementwiseBatching, inferUnary, referenceUnary } from "../families/unary.ts";
import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";

export const abs: Op<"abs", NoAttrs, 1> = defineOp({
  name: "abs",
  summary: "The number without its sign.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("abs", "numbers"),
  reference: referenceUnary(Math.abs),
  oracle: { numpy: "np.abs(x0)" },
  // d|x| = sign(x) dx
  gradient: { kind: "vjp", rule: ({ g, ct, inputs: [x] }) => [g.mul([ct, g.sign([x])])] },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise", "idempotent"],
  backends: {
    cpu: cpuKernel("abs", { takes: NUMBERS }),
    coreml: milUnary("abs"),
    mlx: mlxCall("abs", { takes: "numbers" }),
  },
  samples: numberSamples,
});
