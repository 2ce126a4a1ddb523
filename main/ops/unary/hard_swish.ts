import type { Value } from "../../ir/graph.ts";
import { decomposed, everywhere } from "../defineOp.ts";
import type { Unary } from "../families/unary.ts";
import { hardSigmoid, rangeSamples, unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

const parts = (g: OpBuilder, [x]: readonly [Value]): Value => g.mul([x, g.hard_sigmoid([x])]);

export const hard_swish: Unary<"hard_swish"> = unaryOp("hard_swish", {
  summary: "x · hard_sigmoid(x).",
  reference: (x) => x * hardSigmoid(x),
  oracle: { jax: "jax.nn.hard_swish(x0)" },
  gradient: decomposed(parts),
  backends: everywhere(parts),
  samples: rangeSamples(-5, 5),
});
