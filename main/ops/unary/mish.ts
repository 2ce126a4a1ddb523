import type { Value } from "../../ir/graph.ts";
import { decomposed, everywhere } from "../defineOp.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, softplusOf, unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

const parts = (g: OpBuilder, [x]: readonly [Value]): Value => g.mul([x, g.tanh([g.softplus([x])])]);

export const mish: Unary<"mish"> = unaryOp("mish", {
  summary: "x · tanh(softplus(x)).",
  reference: (x) => x * Math.tanh(softplusOf(x)),
  oracle: { jax: "jax.nn.mish(x0)" },
  gradient: decomposed(parts),
  backends: everywhere(parts),
  samples: rangeSamples(-5, 5),
});
