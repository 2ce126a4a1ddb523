import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryNamed, unaryOp } from "../families/unary.ts";

export const acos: Unary<"acos"> = unaryOp("acos", {
  summary: "Angle whose cosine is x, from 0 to π; NaN beyond -1 and 1.",
  reference: Math.acos,
  oracle: { numpy: "np.arccos(x0)" },
  // d acos x = -dx / √(1 - x²)
  gradient: ({ g, ct, inputs: [x] }) => g.neg([g.div([ct, g.sqrt([g.sub([scalarLike(g, ct, 1), g.square([x])])])])]),
  traits: ["sensitive"],
  backends: unaryNamed("acos", "arccos", "acos"),
  samples: rangeSamples(-0.9, 0.9),
});
