import { milNative } from "../../backends/coreml/rules.ts";
import type { Unary } from "../families/unary.ts";
import { positiveSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const log: Unary<"log"> = unaryOp("log", {
  summary: "Natural logarithm.",
  reference: Math.log,
  oracle: { numpy: "np.log(x0)" },
  // d ln x = dx / x
  gradient: ({ g, ct, inputs: [x] }) => g.div([ct, x]),
  traits: ["sensitive"],
  backends: {
    ...unaryBackends("log"),
    coreml: milNative((e, [x]) => e.op("log", { x, epsilon: 0 })),
  },
  samples: positiveSamples,
});
