import { milNative } from "../../backends/coreml/rules.ts";
import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { positiveSamples, unaryBackends, unaryOp } from "../families/unary.ts";

export const rsqrt: Unary<"rsqrt"> = unaryOp("rsqrt", {
  summary: "One over the square root.",
  reference: (x) => 1 / Math.sqrt(x),
  oracle: { numpy: "1 / np.sqrt(x0)" },
  // d x^-½ = -½ x^-½ / x dx
  gradient: ({ g, ct, inputs: [x], outputs: [y = ct] }) => g.div([g.mul([g.mul([ct, scalarLike(g, ct, -0.5)]), y]), x]),
  traits: ["sensitive"],
  backends: {
    ...unaryBackends("rsqrt"),
    coreml: milNative((e, [x]) => e.op("rsqrt", { x, epsilon: 0 })),
  },
  samples: positiveSamples,
});
