import { milUnary } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { stepSamples, elementwiseBatching, inferUnary, referenceUnary } from "../families/unary.ts";
import { filledLike } from "../families/constants.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";

export const floor: Op<"floor", NoAttrs, 1> = defineOp({
  name: "floor",
  summary: "Largest whole number not above.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("floor"),
  reference: referenceUnary(Math.floor),
  oracle: { numpy: "np.floor(x0)" },
  // Constant wherever it has a derivative.
  gradient: { kind: "vjp", rule: ({ g, ct }) => [filledLike(g, ct, 0)] },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise", "idempotent"],
  backends: { cpu: cpuKernel("floor", { takes: REALS }), coreml: milUnary("floor"), mlx: mlxCall("floor") },
  samples: stepSamples,
});
