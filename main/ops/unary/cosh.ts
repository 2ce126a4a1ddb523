import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const cosh: Unary<"cosh"> = unaryOp("cosh", {
  summary: "Hyperbolic cosine, (e^x + e^-x) / 2.",
  reference: Math.cosh,
  oracle: { numpy: "np.cosh(x0)" },
  gradient: ({ g, ct, inputs: [x] }) => g.mul([ct, g.sinh([x])]),
  traits: ["sensitive"],
  backends: unaryBackends("cosh"),
  samples: rangeSamples(-4, 4),
});
