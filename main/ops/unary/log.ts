import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { positiveSamples, elementwiseBatching, inferUnary, referenceUnary } from "../families/unary.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";

export const log: Op<"log", NoAttrs, 1> = defineOp({
  name: "log",
  summary: "Natural logarithm.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("log"),
  reference: referenceUnary(Math.log),
  oracle: { numpy: "np.log(x0)" },
  // d ln x = dx / x
  gradient: { kind: "vjp", rule: ({ g, ct, inputs: [x] }) => [g.div([ct, x])] },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise", "sensitive"],
  backends: {
    cpu: cpuKernel("log", { takes: REALS }),
    coreml: milNative((e, [x]) => e.op("log", { x, epsilon: 0 })),
    mlx: mlxCall("log"),
  },
  samples: positiveSamples,
});
