import { mlxCall } from "../../backends/mlx/rules.ts";
import type { Value } from "../../ir/graph.ts";
import { everywhere } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { bitPairs, noDerivative } from "../families/logic.ts";
import { sample, values } from "../families/samples.ts";
import type { Unary } from "../families/unary.ts";
import { unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** As two's complement has it. */
const parts = (g: OpBuilder, [x]: readonly [Value]): Value => g.sub([g.neg([x]), scalarLike(g, x, 1)]);

export const bit_not: Unary<"bit_not"> = unaryOp("bit_not", {
  summary: "Every bit of a whole number turned.",
  takes: "whole numbers",
  reference: (x) => -x - 1,
  oracle: { numpy: "~x0" },
  gradient: noDerivative,
  backends: { ...everywhere(parts), mlx: mlxCall("bitwise_invert", { takes: "whole" }) },
  samples: [
    // Far from 0 the results have no place among the reference's numbers.
    ...bitPairs
      .filter(({ inputs }) => inputs[0]?.type.dtype !== "i64")
      .map((pair) => ({ ...pair, inputs: pair.inputs.slice(0, 1) })),
    sample("long whole numbers", [values([2 ** 40, -7, 0], [3], "i64")], {}),
  ],
});
