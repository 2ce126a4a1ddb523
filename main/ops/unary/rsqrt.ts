import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { positiveSamples, elementwiseBatching, inferUnary, referenceUnary } from "../families/unary.ts";
import { scalarLike } from "../families/constants.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";

export const rsqrt: Op<"rsqrt", NoAttrs, 1> = defineOp({
  name: "rsqrt",
  summary: "One over the square root.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("rsqrt"),
  reference: referenceUnary((x) => 1 / Math.sqrt(x)),
  oracle: { numpy: "1 / np.sqrt(x0)" },
  // d x^-½ = -½ x^-½ / x dx
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [x], outputs: [y = ct] }) => [g.div([g.mul([g.mul([ct, scalarLike(g, ct, -0.5)]), y]), x])],
  },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise", "sensitive"],
  backends: {
    cpu: cpuKernel("rsqrt", { takes: REALS }),
    coreml: milNative((e, [x]) => e.op("rsqrt", { x, epsilon: 0 })),
    mlx: mlxCall("rsqrt"),
  },
  samples: positiveSamples,
});
