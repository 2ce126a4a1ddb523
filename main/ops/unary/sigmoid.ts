import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { logistic, realSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const sigmoid: Unary<"sigmoid"> = unaryOp("sigmoid", {
  summary: "1 / (1 + e^-x).",
  reference: logistic,
  oracle: { numpy: "scipy.special.expit(x0)" },
  // dσ = σ (1 - σ) dx
  gradient: ({ g, ct, outputs: [y = ct] }) => g.mul([ct, g.mul([y, g.sub([scalarLike(g, ct, 1), y])])]),
  backends: unaryBackends("sigmoid"),
  samples: realSamples,
});
