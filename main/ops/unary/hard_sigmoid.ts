import { milNative } from "../../backends/coreml/rules.ts";
import { scalarLike } from "../families/constants.ts";
import type { Value } from "../../ir/graph.ts";
import { decomposed, everywhere } from "../defineOp.ts";
import type { Unary } from "../families/unary.ts";
import { hardSigmoid, rangeSamples, unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

const parts = (g: OpBuilder, [x]: readonly [Value]): Value =>
  g.clamp([g.add([g.mul([x, scalarLike(g, x, 1 / 6)]), scalarLike(g, x, 0.5)])], { low: 0, high: 1 });

export const hard_sigmoid: Unary<"hard_sigmoid"> = unaryOp("hard_sigmoid", {
  summary: "x / 6 + ½, held between 0 and 1.",
  reference: hardSigmoid,
  oracle: { jax: "jax.nn.hard_sigmoid(x0)" },
  gradient: decomposed(parts),
  backends: {
    ...everywhere(parts),
    coreml: milNative((e, [x]) => e.op("sigmoid_hard", { x, alpha: 1 / 6, beta: 0.5 })),
  },
  samples: rangeSamples(-5, 5),
});
