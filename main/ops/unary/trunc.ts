import type { Value } from "../../ir/graph.ts";
import { filledLike, scalarLike } from "../families/constants.ts";
import type { Unary } from "../families/unary.ts";
import { edgeSamples, stepSamples, unaryNamed, unaryOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

const parts = (g: OpBuilder, [x]: readonly [Value]): Value =>
  g.where([g.compare([x, scalarLike(g, x, 0)], { op: "lt" }), g.ceil([x]), g.floor([x])]);

export const trunc: Unary<"trunc"> = unaryOp("trunc", {
  summary: "The number without its fraction.",
  reference: Math.trunc,
  oracle: { numpy: "np.trunc(x0)" },
  // Constant wherever it has a derivative.
  gradient: ({ g, ct }) => filledLike(g, ct, 0),
  traits: ["idempotent"],
  backends: unaryNamed("trunc", "trunc", parts),
  samples: [...stepSamples, ...edgeSamples],
});
