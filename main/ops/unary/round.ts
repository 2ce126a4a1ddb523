import { roundHalfEven } from "../families/host.ts";
import type { Unary } from "../families/unary.ts";
import { stepSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const round: Unary<"round"> = unaryOp("round", {
  summary: "Nearest whole number, ties to even.",
  reference: roundHalfEven,
  oracle: { numpy: "np.rint(x0)" },
  // Straight through, so that quantisation can be trained.
  gradient: ({ ct }) => ct,
  traits: ["idempotent"],
  backends: unaryBackends("round"),
  samples: stepSamples,
});
