import type { Value } from "../../ir/graph.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { byParts } from "../families/parts.ts";
import { inferLines, largest, linesSchema, mapLines } from "../families/lines.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import type { LinesAttrs } from "../families/lines.ts";
import { attr } from "../../ir/attributes.ts";

export interface NormAttrs extends LinesAttrs {
  readonly kind: "l1" | "l2" | "max";
}

function parts(g: OpBuilder, [x]: readonly [Value], { axes, keepDims = false, kind }: NormAttrs): Value {
  if (kind === "l2") return g.sqrt([g.reduce([g.square([x])], { kind: "sum", axes, keepDims })]);
  const sizes = g.abs([x]);
  return kind === "l1" ? g.reduce([sizes], { kind: "sum", axes, keepDims }) : largest(g, sizes, { axes, keepDims }, 0);
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
      return kind === "l1" ? sizes.reduce((a, b) => a + b, 0) : sizes.reduce((a, b) => Math.max(a, b), 0);
    }),
  oracle: {
    numpy:
      '{"l1": lambda x, **k: np.sum(np.abs(x), **k), "l2": lambda x, **k: np.sqrt(np.sum(x * x, **k)), "max": lambda x, **k: np.max(np.abs(x), initial=0, **k)}[a["kind"]](x0, axis=tuple(a["axes"]), keepdims=a.get("keepDims", False))',
  },
  ...byParts(parts),
  traits: ["pure", "reduction", "sensitive"],
  samples: withDoubles([
    sample("l2 of the last axis, odd sizes", [normal(1, [3, 5])], { axes: [-1], kind: "l2" }),
    sample("l1 of two axes, kept", [normal(2, [2, 3, 4])], { axes: [0, 2], keepDims: true, kind: "l1" }),
    sample("largest, symbolic rows", [normal(3, ["T", 7], 3)], { axes: [0], kind: "max" }, { bindings: { T: 3 } }),
    sample("no lines", [values([], [0, 3])], { axes: [1], kind: "l2" }),
    sample("largest along an empty axis", [values([], [3, 0, 4])], { axes: [1], kind: "max" }),
    sample(
      "largest along a symbolic axis without elements",
      [values([], [3, "T"])],
      { axes: [1], kind: "max" },
      { bindings: { T: 0 } },
    ),
    sample("largest of nothing, kept", [values([], [0])], { axes: [-1], keepDims: true, kind: "max" }),
  ]),
});
