import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryNamed, unaryOp } from "../families/unary.ts";

export const atan: Unary<"atan"> = unaryOp("atan", {
  summary: "Angle whose tangent is x, from -π/2 to π/2.",
  reference: Math.atan,
  oracle: { numpy: "np.arctan(x0)" },
  // d atan x = dx / (1 + x²)
  gradient: ({ g, ct, inputs: [x] }) => g.div([ct, g.add([scalarLike(g, ct, 1), g.square([x])])]),
  backends: unaryNamed("atan", "arctan", "atan"),
  samples: rangeSamples(-4, 4),
});
