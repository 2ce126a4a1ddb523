import { filledLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { edgeSamples, stepSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const ceil: Unary<"ceil"> = unaryOp("ceil", {
  summary: "Smallest whole number not below.",
  reference: Math.ceil,
  oracle: { numpy: "np.ceil(x0)" },
  // Constant wherever it has a derivative.
  gradient: ({ g, ct }) => filledLike(g, ct, 0),
  traits: ["idempotent"],
  backends: unaryBackends("ceil"),
  samples: [...stepSamples, ...edgeSamples],
});
