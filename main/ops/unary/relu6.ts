import { milUnary } from "../../backends/coreml/rules.ts";
import type { Value } from "../../ir/graph.ts";
import { decomposed, everywhere } from "../defineOp.ts";
import type { Unary } from "../families/unary.ts";
import { rangeSamples, unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

const parts = (g: OpBuilder, [x]: readonly [Value]): Value => g.clamp([x], { low: 0, high: 6 });

export const relu6: Unary<"relu6"> = unaryOp("relu6", {
  summary: "The number held between 0 and 6.",
  reference: (x) => Math.min(Math.max(x, 0), 6),
  oracle: { jax: "jax.nn.relu6(x0)" },
  gradient: decomposed(parts),
  traits: ["idempotent"],
  backends: { ...everywhere(parts), coreml: milUnary("relu6") },
  samples: rangeSamples(-5, 5),
});
