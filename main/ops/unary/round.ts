import { milUnary } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { stepSamples, elementwiseBatching, inferUnary, referenceUnary } from "../families/unary.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { roundHalfEven } from "../families/host.ts";

export const round: Op<"round", NoAttrs, 1> = defineOp({
  name: "round",
  summary: "Nearest whole number, ties to even.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("round"),
  reference: referenceUnary(roundHalfEven),
  oracle: { numpy: "np.rint(x0)" },
  // Straight through, so that quantisation can be trained.
  gradient: { kind: "vjp", rule: ({ ct }) => [ct] },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise", "idempotent"],
  backends: { cpu: cpuKernel("round", { takes: REALS }), coreml: milUnary("round"), mlx: mlxCall("round") },
  samples: stepSamples,
});
