import { mlxCall } from "../../backends/mlx/rules.ts";
import type { Value } from "../../ir/graph.ts";
import { everywhere, nondifferentiable } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** A comparison with NaN is false, too. */
const parts = (g: OpBuilder, [x]: readonly [Value]): Value =>
  g.compare([g.abs([x]), scalarLike(g, x, Infinity)], { op: "lt" });

export const is_finite: Unary<"is_finite"> = unaryOp("is_finite", {
  summary: "True where the number is neither infinite nor NaN.",
  gives: "bool",
  reference: (x) => Number(Number.isFinite(x)),
  oracle: { numpy: "np.isfinite(x0)" },
  gradient: nondifferentiable("the result is true or false: its derivative is zero wherever it exists"),
  backends: { ...everywhere(parts), mlx: mlxCall("isfinite") },
  samples: rangeSamples(-4, 4),
});
