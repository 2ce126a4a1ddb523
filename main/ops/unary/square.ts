import { milNative, wrapsAsInt32 } from "../../backends/coreml/rules.ts";
import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { multiplyWhole } from "../../ir/wholeNumbers.ts";
import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { edgeSamples, numberSamples, unaryOp } from "../families/unary.ts";

export const square: Unary<"square"> = unaryOp("square", {
  summary: "x times x.",
  takes: "numbers",
  reference: (x, _attrs, dtype) => multiplyWhole(x, x, dtype),
  oracle: { numpy: "np.square(x0)" },
  // d x² = 2x dx
  gradient: ({ g, ct, inputs: [x] }) => g.mul([ct, g.mul([x, scalarLike(g, x, 2)])]),
  backends: {
    cpu: cpuKernel("square", { takes: NUMBERS }),
    coreml: milNative(
      (e, [x]) => (x.type.dtype === "int32" ? e.op("mul", { x, y: x }) : e.op("square", { x })),
      wrapsAsInt32,
    ),
    mlx: mlxCall("square", { takes: "numbers" }),
  },
  samples: [...numberSamples, ...edgeSamples],
});
