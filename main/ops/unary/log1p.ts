import type { Value } from "../../ir/graph.ts";
import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryNamed, unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** log(1 + x); near 0, where that loses digits, 2 atanh(x / (x + 2)). */
function parts(g: OpBuilder, [x]: readonly [Value]): Value {
  const c = (value: number): Value => scalarLike(g, x, value);
  const near = g.mul([c(2), g.atanh([g.div([x, g.add([x, c(2)])])])]);
  const far = g.log([g.add([x, c(1)])]);
  return g.where([g.compare([g.abs([x]), c(0.5)], { op: "gt" }), far, near]);
}

export const log1p: Unary<"log1p"> = unaryOp("log1p", {
  summary: "log(1 + x), exact near 0.",
  reference: Math.log1p,
  oracle: { numpy: "np.log1p(x0)" },
  // d ln(1 + x) = dx / (1 + x)
  gradient: ({ g, ct, inputs: [x] }) => g.div([ct, g.add([x, scalarLike(g, x, 1)])]),
  traits: ["sensitive"],
  backends: unaryNamed("log1p", "log1p", parts),
  samples: rangeSamples(-0.8, 3),
});
