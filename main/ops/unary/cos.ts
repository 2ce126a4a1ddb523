import type { Unary } from "../families/unary.ts";
import { realSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const cos: Unary<"cos"> = unaryOp("cos", {
  summary: "Cosine.",
  reference: Math.cos,
  oracle: { numpy: "np.cos(x0)" },
  gradient: ({ g, ct, inputs: [x] }) => g.neg([g.mul([ct, g.sin([x])])]),
  backends: unaryBackends("cos"),
  samples: realSamples,
});
