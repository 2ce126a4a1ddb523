import type { Unary } from "../families/unary.ts";
import { realSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const exp: Unary<"exp"> = unaryOp("exp", {
  summary: "e to the power of x.",
  reference: Math.exp,
  oracle: { numpy: "np.exp(x0)" },
  // d e^x = e^x dx
  gradient: ({ g, ct, outputs: [y = ct] }) => g.mul([ct, y]),
  traits: ["sensitive"],
  backends: unaryBackends("exp"),
  samples: realSamples,
});
