import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const tan: Unary<"tan"> = unaryOp("tan", {
  summary: "Tangent.",
  reference: Math.tan,
  oracle: { numpy: "np.tan(x0)" },
  // d tan x = (1 + tan² x) dx
  gradient: ({ g, ct, outputs: [y = ct] }) => g.mul([ct, g.add([scalarLike(g, ct, 1), g.square([y])])]),
  traits: ["sensitive"],
  backends: unaryBackends("tan"),
  samples: rangeSamples(-1.2, 1.2),
});
