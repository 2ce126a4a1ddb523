import type { Value } from "../../ir/graph.ts";
import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryNamed, unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

/**
 * Of a = |x|, with the sign of x: log a + log(1 + √(1 + 1/a²)), which never squares a large number; up to 1, where that loses
 * digits, log1p(a + a² / (1 + √(1 + a²))).
 */
function parts(g: OpBuilder, [x]: readonly [Value]): Value {
  const one = scalarLike(g, x, 1);
  const a = g.abs([x]);
  const root = (square: Value): Value => g.add([one, g.sqrt([g.add([one, square])])]);
  const far = g.add([g.log([a]), g.log([root(g.square([g.reciprocal([a])]))])]);
  const squared = g.square([a]);
  const near = g.log1p([g.add([a, g.div([squared, root(squared)])])]);
  return g.mul([g.sign([x]), g.where([g.compare([a, one], { op: "gt" }), far, near])]);
}

export const asinh: Unary<"asinh"> = unaryOp("asinh", {
  summary: "Number whose hyperbolic sine is x.",
  reference: Math.asinh,
  oracle: { numpy: "np.arcsinh(x0)" },
  // d asinh x = dx / √(x² + 1)
  gradient: ({ g, ct, inputs: [x] }) => g.div([ct, g.sqrt([g.add([g.square([x]), scalarLike(g, x, 1)])])]),
  traits: ["sensitive"],
  backends: unaryNamed("asinh", "arcsinh", parts),
  samples: rangeSamples(-9, 9),
});
