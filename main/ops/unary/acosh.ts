import type { Value } from "../../ir/graph.ts";
import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { sample, values } from "../families/samples.ts";
import { rangeSamples, unaryNamed, unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

/**
 * log x + log(1 + √(1 - 1/x²)); up to 2, where that loses digits, log1p(t + √t √(x + 1)) with t = x - 1. The roots are
 * two, as below -1 that of the product is a number.
 */
function parts(g: OpBuilder, [x]: readonly [Value]): Value {
  const c = (value: number): Value => scalarLike(g, x, value);
  const root = g.sqrt([g.sub([c(1), g.square([g.reciprocal([x])])])]);
  const far = g.add([g.log([x]), g.log([g.add([c(1), root])])]);
  const t = g.sub([x, c(1)]);
  const near = g.log1p([g.add([t, g.mul([g.sqrt([t]), g.sqrt([g.add([x, c(1)])])])])]);
  return g.where([g.compare([x, c(2)], { op: "gt" }), far, near]);
}

export const acosh: Unary<"acosh"> = unaryOp("acosh", {
  summary: "Number from 0 whose hyperbolic cosine is x; NaN below 1.",
  reference: Math.acosh,
  oracle: { numpy: "np.arccosh(x0)" },
  // d acosh x = dx / √((x - 1) (x + 1))
  gradient: ({ g, ct, inputs: [x] }) => {
    const one = scalarLike(g, x, 1);
    return g.div([ct, g.sqrt([g.mul([g.sub([x, one]), g.add([x, one])])])]);
  },
  traits: ["sensitive"],
  backends: unaryNamed("acosh", "arccosh", parts),
  samples: [
    ...rangeSamples(1.1, 5),
    sample(
      "below 1 there is none",
      [values([NaN, -60000, -1e4, -100, -3, -1.5, 0.5, 2])],
      {},
      { differentiable: false },
    ),
    sample("far below 1 there is none", [values([NaN, -3e38, -1e20, 2])], {}, { differentiable: false }),
  ],
});
