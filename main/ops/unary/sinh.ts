import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const sinh: Unary<"sinh"> = unaryOp("sinh", {
  summary: "Hyperbolic sine, (e^x - e^-x) / 2.",
  reference: Math.sinh,
  oracle: { numpy: "np.sinh(x0)" },
  gradient: ({ g, ct, inputs: [x] }) => g.mul([ct, g.cosh([x])]),
  traits: ["sensitive"],
  backends: unaryBackends("sinh"),
  samples: rangeSamples(-4, 4),
});
