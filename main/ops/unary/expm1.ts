import type { Value } from "../../ir/graph.ts";
import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryNamed, unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** e^x - 1; near 0, where that loses digits, 2t / (1 - t) with t = tanh(x / 2). */
function parts(g: OpBuilder, [x]: readonly [Value]): Value {
  const c = (value: number): Value => scalarLike(g, x, value);
  const t = g.tanh([g.mul([x, c(0.5)])]);
  const near = g.div([g.mul([c(2), t]), g.sub([c(1), t])]);
  const far = g.sub([g.exp([x]), c(1)]);
  return g.where([g.compare([g.abs([x]), c(1)], { op: "gt" }), far, near]);
}

export const expm1: Unary<"expm1"> = unaryOp("expm1", {
  summary: "e^x - 1, exact near 0.",
  reference: Math.expm1,
  oracle: { numpy: "np.expm1(x0)" },
  // d (e^x - 1) = e^x dx
  gradient: ({ g, ct, inputs: [x] }) => g.mul([ct, g.exp([x])]),
  traits: ["sensitive"],
  backends: unaryNamed("expm1", "expm1", parts),
  samples: rangeSamples(-4, 4),
});
