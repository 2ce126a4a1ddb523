import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { milNative } from "../../backends/coreml/rules.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryOp } from "../families/unary.ts";

export const reciprocal: Unary<"reciprocal"> = unaryOp("reciprocal", {
  summary: "One divided by x.",
  reference: (x) => 1 / x,
  oracle: { numpy: "1 / x0" },
  // d 1/x = -(1/x)² dx
  gradient: ({ g, ct, outputs: [y = ct] }) => g.neg([g.mul([ct, g.square([y])])]),
  traits: ["sensitive"],
  backends: {
    cpu: cpuKernel("reciprocal", { takes: REALS }),
    mlx: mlxCall("reciprocal"),
    // `inverse` adds its epsilon first, and a zero loses its sign.
    coreml: milNative((e, [x]) => e.op("real_div", { x: 1, y: x })),
  },
  samples: rangeSamples(0.3, 4),
});
