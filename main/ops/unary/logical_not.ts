import { milUnary } from "../../backends/coreml/rules.ts";
import { TRUTH, cpuKernel } from "../../backends/cpu/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { noDerivative, truthPairs } from "../families/logic.ts";
import type { Unary } from "../families/unary.ts";
import { unaryOp } from "../families/unary.ts";

export const logical_not: Unary<"logical_not"> = unaryOp("logical_not", {
  summary: "True where the operand is false.",
  takes: "bool",
  reference: (x) => 1 - x,
  oracle: { numpy: "np.logical_not(x0)" },
  gradient: noDerivative,
  backends: {
    cpu: cpuKernel("logical_not", { takes: TRUTH }),
    coreml: milUnary("logical_not"),
    mlx: mlxCall("logical_not", { takes: "any" }),
  },
  samples: truthPairs.map((pair) => ({ ...pair, inputs: pair.inputs.slice(0, 1) })),
});
