import { milUnary } from "../../backends/coreml/rules.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { elementwiseBatching, inferUnary, realSamples, referenceUnary } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** max(x, 0) + log(1 + e^-|x|): the exponential never overflows. */
function decompose(g: OpBuilder, [x]: readonly [Value]): Value {
  const small = g.exp([g.neg([g.abs([x])])]);
  return g.add([g.maximum([x, scalarLike(g, x, 0)]), g.log([g.add([scalarLike(g, x, 1), small])])]);
}

export const softplus: Op<"softplus", NoAttrs, 1> = defineOp({
  name: "softplus",
  summary: "log(1 + eˣ): a smooth largest of x and 0.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("softplus"),
  reference: referenceUnary((x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))),
  oracle: { jax: "jax.nn.softplus(x0)" },
  gradient: { kind: "vjp", rule: ({ g, ct, inputs: [x] }) => [g.mul([ct, g.sigmoid([x])])] },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise"],
  backends: {
    cpu: cpuKernel("softplus", { takes: REALS }),
    coreml: milUnary("softplus"),
    mlx: decomposed(decompose),
  },
  samples: realSamples,
});
