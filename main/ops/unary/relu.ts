import { milUnary } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { realSamples, elementwiseBatching, inferUnary, referenceUnary } from "../families/unary.ts";
import { scalarLike } from "../families/constants.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";

export const relu: Op<"relu", NoAttrs, 1> = defineOp({
  name: "relu",
  summary: "The number where it is positive, 0 elsewhere.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("relu"),
  reference: referenceUnary((x) => Math.max(x, 0)),
  oracle: { numpy: "np.maximum(x0, 0)" },
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [x] }) => {
      const zero = scalarLike(g, ct, 0);
      return [g.where([g.compare([x, zero], { op: "gt" }), ct, zero])];
    },
  },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise", "idempotent"],
  backends: {
    cpu: cpuKernel("relu", { takes: REALS }),
    coreml: milUnary("relu"),
    mlx: mlxCall("relu", { takes: "numbers" }),
  },
  samples: realSamples,
});
