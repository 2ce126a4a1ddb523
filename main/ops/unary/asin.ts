import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryNamed, unaryOp } from "../families/unary.ts";

export const asin: Unary<"asin"> = unaryOp("asin", {
  summary: "Angle whose sine is x, from -π/2 to π/2; NaN beyond -1 and 1.",
  reference: Math.asin,
  oracle: { numpy: "np.arcsin(x0)" },
  // d asin x = dx / √(1 - x²)
  gradient: ({ g, ct, inputs: [x] }) => g.div([ct, g.sqrt([g.sub([scalarLike(g, ct, 1), g.square([x])])])]),
  traits: ["sensitive"],
  backends: unaryNamed("asin", "arcsin", "asin"),
  samples: rangeSamples(-0.9, 0.9),
});
