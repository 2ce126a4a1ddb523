import { milUnary } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { realSamples, elementwiseBatching, inferUnary, referenceUnary } from "../families/unary.ts";
import { scalarLike } from "../families/constants.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { erfOf } from "../families/erf.ts";

export const erf: Op<"erf", NoAttrs, 1> = defineOp({
  name: "erf",
  summary: "Error function.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("erf"),
  reference: referenceUnary(erfOf),
  oracle: { numpy: "scipy.special.erf(x0)" },
  // d erf x = 2/√π e^(-x²) dx
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [x] }) => [
      g.mul([g.mul([ct, scalarLike(g, ct, 2 / Math.sqrt(Math.PI))]), g.exp([g.neg([g.mul([x, x])])])]),
    ],
  },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise", "sensitive"],
  backends: { cpu: cpuKernel("erf", { takes: REALS }), coreml: milUnary("erf"), mlx: mlxCall("erf") },
  samples: realSamples,
});
