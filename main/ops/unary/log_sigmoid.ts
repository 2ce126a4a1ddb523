import type { Value } from "../../ir/graph.ts";
import { decomposed, everywhere } from "../defineOp.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, softplusOf, unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

const parts = (g: OpBuilder, [x]: readonly [Value]): Value => g.neg([g.softplus([g.neg([x])])]);

export const log_sigmoid: Unary<"log_sigmoid"> = unaryOp("log_sigmoid", {
  summary: "log(sigmoid(x)), which is -softplus(-x).",
  reference: (x) => -softplusOf(-x),
  oracle: { jax: "jax.nn.log_sigmoid(x0)" },
  gradient: decomposed(parts),
  backends: everywhere(parts),
  samples: rangeSamples(-5, 5),
});
