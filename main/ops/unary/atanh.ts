import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryNamed, unaryOp } from "../families/unary.ts";

export const atanh: Unary<"atanh"> = unaryOp("atanh", {
  summary: "Number whose hyperbolic tangent is x; NaN beyond -1 and 1.",
  reference: Math.atanh,
  oracle: { numpy: "np.arctanh(x0)" },
  // d atanh x = dx / (1 - x²)
  gradient: ({ g, ct, inputs: [x] }) => g.div([ct, g.sub([scalarLike(g, ct, 1), g.square([x])])]),
  traits: ["sensitive"],
  backends: unaryNamed("atanh", "arctanh", "atanh"),
  samples: rangeSamples(-0.9, 0.9),
});
