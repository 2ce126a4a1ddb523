import { milUnary } from "../../backends/coreml/rules.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import type { Value } from "../../ir/graph.ts";
import { decomposed } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { realSamples, softplusOf, unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** max(x, 0) + log(1 + e^-|x|): the exponential never overflows. */
function decompose(g: OpBuilder, [x]: readonly [Value]): Value {
  const small = g.exp([g.neg([g.abs([x])])]);
  return g.add([g.maximum([x, scalarLike(g, x, 0)]), g.log([g.add([scalarLike(g, x, 1), small])])]);
}

export const softplus: Unary<"softplus"> = unaryOp("softplus", {
  summary: "log(1 + eˣ): a smooth largest of x and 0.",
  reference: softplusOf,
  oracle: { jax: "jax.nn.softplus(x0)" },
  gradient: ({ g, ct, inputs: [x] }) => g.mul([ct, g.sigmoid([x])]),
  backends: {
    cpu: cpuKernel("softplus", { takes: REALS }),
    coreml: milUnary("softplus"),
    mlx: decomposed(decompose),
  },
  samples: realSamples,
});
