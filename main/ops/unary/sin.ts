import type { Unary } from "../families/unary.ts";
import { realSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const sin: Unary<"sin"> = unaryOp("sin", {
  summary: "Sine.",
  reference: Math.sin,
  oracle: { numpy: "np.sin(x0)" },
  gradient: ({ g, ct, inputs: [x] }) => g.mul([ct, g.cos([x])]),
  backends: unaryBackends("sin"),
  samples: realSamples,
});
