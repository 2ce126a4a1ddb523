import type { Unary } from "../families/unary.ts";
import { numberSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const abs: Unary<"abs"> = unaryOp("abs", {
  summary: "The number without its sign.",
  takes: "numbers",
  reference: Math.abs,
  oracle: { numpy: "np.abs(x0)" },
  // d|x| = sign(x) dx
  gradient: ({ g, ct, inputs: [x] }) => g.mul([ct, g.sign([x])]),
  traits: ["idempotent"],
  backends: unaryBackends("abs", "numbers"),
  samples: numberSamples,
});
