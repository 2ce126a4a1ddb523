import { scalarLike } from "../families/constants.ts";
import { erfOf } from "../families/erf.ts";
import type { Unary } from "../families/unary.ts";
import { realSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const erf: Unary<"erf"> = unaryOp("erf", {
  summary: "Error function.",
  reference: erfOf,
  oracle: { numpy: "scipy.special.erf(x0)" },
  // d erf x = 2/√π e^(-x²) dx
  gradient: ({ g, ct, inputs: [x] }) =>
    g.mul([g.mul([ct, scalarLike(g, ct, 2 / Math.sqrt(Math.PI))]), g.exp([g.neg([g.mul([x, x])])])]),
  traits: ["sensitive"],
  backends: unaryBackends("erf"),
  samples: realSamples,
});
