import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { realSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const relu: Unary<"relu"> = unaryOp("relu", {
  summary: "The number where it is positive, 0 elsewhere.",
  reference: (x) => Math.max(x, 0),
  oracle: { numpy: "np.maximum(x0, 0)" },
  gradient: ({ g, ct, inputs: [x] }) => {
    const zero = scalarLike(g, ct, 0);
    return g.where([g.compare([x, zero], { op: "gt" }), ct, zero]);
  },
  traits: ["idempotent"],
  backends: unaryBackends("relu"),
  samples: realSamples,
});
