import type { Value } from "../../ir/graph.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { byParts } from "../families/parts.ts";
import { inferLines, linesSchema, mapLines } from "../families/lines.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import type { LinesAttrs } from "../families/lines.ts";
import { attr } from "../../ir/attributes.ts";

export interface NormAttrs extends LinesAttrs {
  readonly kind: "l1" | "l2" | "max";
}

function parts(g: OpBuilder, [x]: readonly [Value], { axes, keepDims = false, kind }: NormAttrs): Value {
  if (kind === "l2") return g.sqrt([g.reduce([g.square([x])], { kind: "sum", axes, keepDims })]);
  return g.reduce([g.abs([x])], { kind: kind === "l1" ? "sum" : "max", axes, keepDims });
}

export const norm: Op<"norm", NormAttrs, 1> = defineOp({
  name: "norm",
  summary:
    "The length of the vectors along some axes: sum of sizes (l1), root of the sum of squares (l2), or largest size.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { ...linesSchema, kind: attr.oneOf(["l1", "l2", "max"]) },
  infer: ([x], attrs) => inferLines("norm", x, attrs),
  reference: ([x], { axes, kind }, [type]) =>
    mapLines(x, axes, type, (line) => {
      if (kind === "l2") return Math.sqrt(line.reduce((sum, value) => sum + value * value, 0));
      const sizes = line.map(Math.abs);
      return kind === "l1" ? sizes.reduce((a, b) => a + b, 0) : sizes.reduce((a, b) => Math.max(a, b), -Infinity);
    }),
  oracle: {
    numpy:
      '{"l1": lambda x, **k: np.sum(np.abs(x), **k), "l2": lambda x, **k: np.sqrt(np.sum(x * x, **k)), "max": lambda x, **k: np.max(np.abs(x), **k)}[a["kind"]](x0, axis=tuple(a["axes"]), keepdims=a.get("keepDims", False))',
  },
  ...byParts(parts),
  traits: ["pure", "reduction", "sensitive"],
  samples: withDoubles([
    sample("l2 of the last axis, odd sizes", [normal(1, [3, 5])], { axes: [-1], kind: "l2" }),
    sample("l1 of two axes, kept", [normal(2, [2, 3, 4])], { axes: [0, 2], keepDims: true, kind: "l1" }),
    sample("largest, symbolic rows", [normal(3, ["T", 7], 3)], { axes: [0], kind: "max" }, { bindings: { T: 3 } }),
    sample("no lines", [values([], [0, 3])], { axes: [1], kind: "l2" }),
  ]),
});
