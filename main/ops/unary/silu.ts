import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { logistic, realSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const silu: Unary<"silu"> = unaryOp("silu", {
  summary: "x · sigmoid(x).",
  reference: (x) => x * logistic(x),
  oracle: { numpy: "x0 * scipy.special.expit(x0)" },
  // d xσ = σ (1 + x (1 - σ)) dx
  gradient: ({ g, ct, inputs: [x] }) => {
    const s = g.sigmoid([x]);
    const one = scalarLike(g, ct, 1);
    return g.mul([ct, g.mul([s, g.add([one, g.mul([x, g.sub([one, s])])])])]);
  },
  backends: unaryBackends("silu"),
  samples: realSamples,
});
