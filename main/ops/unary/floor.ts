import { filledLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { stepSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const floor: Unary<"floor"> = unaryOp("floor", {
  summary: "Largest whole number not above.",
  reference: Math.floor,
  oracle: { numpy: "np.floor(x0)" },
  // Constant wherever it has a derivative.
  gradient: ({ g, ct }) => filledLike(g, ct, 0),
  traits: ["idempotent"],
  backends: unaryBackends("floor"),
  samples: stepSamples,
});
