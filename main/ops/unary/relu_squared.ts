import type { Value } from "../../ir/graph.ts";
import { decomposed, everywhere } from "../defineOp.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

const parts = (g: OpBuilder, [x]: readonly [Value]): Value => g.square([g.relu([x])]);

export const relu_squared: Unary<"relu_squared"> = unaryOp("relu_squared", {
  summary: "The square of the number where it is positive, 0 elsewhere.",
  reference: (x) => Math.max(x, 0) ** 2,
  oracle: { numpy: "np.maximum(x0, 0) ** 2" },
  gradient: decomposed(parts),
  backends: everywhere(parts),
  samples: rangeSamples(-5, 5),
});
