import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { realSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const tanh: Unary<"tanh"> = unaryOp("tanh", {
  summary: "Hyperbolic tangent.",
  reference: Math.tanh,
  oracle: { numpy: "np.tanh(x0)" },
  // d tanh x = (1 - tanh² x) dx
  gradient: ({ g, ct, outputs: [y = ct] }) => g.mul([ct, g.sub([scalarLike(g, ct, 1), g.mul([y, y])])]),
  backends: unaryBackends("tanh"),
  samples: realSamples,
});
