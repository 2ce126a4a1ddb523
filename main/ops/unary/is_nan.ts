import { mlxCall } from "../../backends/mlx/rules.ts";
import type { Value } from "../../ir/graph.ts";
import { everywhere, nondifferentiable } from "../defineOp.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** Only NaN is not equal to itself. */
const parts = (g: OpBuilder, [x]: readonly [Value]): Value => g.compare([x, x], { op: "ne" });

export const is_nan: Unary<"is_nan"> = unaryOp("is_nan", {
  summary: "True where the number is NaN.",
  gives: "bool",
  reference: (x) => Number(Number.isNaN(x)),
  oracle: { numpy: "np.isnan(x0)" },
  gradient: nondifferentiable("the result is true or false: its derivative is zero wherever it exists"),
  backends: { ...everywhere(parts), mlx: mlxCall("isnan") },
  samples: rangeSamples(-4, 4),
});
