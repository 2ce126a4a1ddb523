import { filledLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { numberSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const sign: Unary<"sign"> = unaryOp("sign", {
  summary: "-1, 0 or 1.",
  takes: "numbers",
  reference: Math.sign,
  oracle: { numpy: "np.sign(x0)" },
  // Constant wherever it has a derivative.
  gradient: ({ g, ct }) => filledLike(g, ct, 0),
  traits: ["idempotent"],
  backends: unaryBackends("sign", "numbers"),
  samples: numberSamples,
});
