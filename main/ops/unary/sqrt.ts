import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { positiveSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const sqrt: Unary<"sqrt"> = unaryOp("sqrt", {
  summary: "Square root.",
  reference: Math.sqrt,
  oracle: { numpy: "np.sqrt(x0)" },
  // d √x = dx / 2√x
  gradient: ({ g, ct, outputs: [y = ct] }) => g.div([g.mul([ct, scalarLike(g, ct, 0.5)]), y]),
  traits: ["sensitive"],
  backends: unaryBackends("sqrt"),
  samples: positiveSamples,
});
