import { milDivideWhole } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { sample, values, wrappingPairs } from "../families/samples.ts";
import type { Binary } from "../families/binary.ts";
import { binaryOp, cpuBinary, milBinary, positiveBinarySamples } from "../families/binary.ts";

export const div: Binary<"div"> = binaryOp("div", {
  summary: "Quotient of two tensors, element by element, with broadcasting; whole numbers are divided towards zero.",
  operands: ["dividend", "divisor"],
  reference: (a, b) => a / b,
  oracle: { numpy: "x0 / x1 if x0.dtype.kind == 'f' else (x0 - np.fmod(x0, x1)) // x1" },
  // d(a/b) = da/b - (a/b) db/b
  gradient: ({ g, ct, inputs: [a, b], outputs: [y = a] }) => {
    const da = g.div([ct, b]);
    return [da, g.neg([g.mul([da, y])])];
  },
  traits: ["sensitive"],
  backends: {
    cpu: cpuBinary("div"),
    coreml: milBinary("real_div", milDivideWhole),
    mlx: mlxCall("divide", { takes: "numbers" }),
  },
  samples: [
    ...positiveBinarySamples,
    sample(
      "whole numbers of both signs, the largest too",
      [
        values([-9, -8, -1, 0, 1, 8, 9, 2147483647, -2147483648], [9, 1], "i32"),
        values([-4, 4, 3, 2147483647], [4], "i32"),
      ],
      {},
    ),
    ...wrappingPairs,
  ],
});
