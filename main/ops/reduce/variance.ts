import type { Value } from "../../ir/graph.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { byParts } from "../families/parts.ts";
import { inferLines, linesSchema, mapLines } from "../families/lines.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import type { LinesAttrs } from "../families/lines.ts";
import { attr } from "../../ir/attributes.ts";
import { normalizeAxis } from "../../ir/type.ts";
import { plainDType } from "../../ir/dtype.ts";
import { scalarLike, sizeValue } from "../families/constants.ts";

export interface VarianceAttrs extends LinesAttrs {
  /** Taken off the count: 0 of the numbers themselves, 1 of what they are drawn from. */
  readonly correction: number;
}

function parts(g: OpBuilder, [x]: readonly [Value], { axes, keepDims = false, correction }: VarianceAttrs): Value {
  const { shape, dtype } = g.typeOf(x);
  const reduced = axes.map((axis) => normalizeAxis(axis, shape.length, "variance"));
  const away = g.sub([x, g.reduce([x], { kind: "mean", axes, keepDims: true })]);
  const sum = g.reduce([g.square([away])], { kind: "sum", axes, keepDims });
  const count = sizeValue(
    g,
    reduced.map((axis) => shape[axis] ?? 1),
    plainDType(dtype, "variance"),
  );
  return g.div([sum, correction === 0 ? count : g.sub([count, scalarLike(g, x, correction)])]);
}

export const variance: Op<"variance", VarianceAttrs, 1> = defineOp({
  name: "variance",
  summary: "The sum of squares about the mean along some axes, over their count less the correction.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { ...linesSchema, correction: attr.int(0) },
  infer: ([x], attrs) => inferLines("variance", x, attrs),
  reference: ([x], { axes, correction }, [type]) =>
    mapLines(x, axes, type, (line) => {
      const mean = line.reduce((sum, value) => sum + value, 0) / line.length;
      return line.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (line.length - correction);
    }),
  oracle: {
    numpy: 'np.var(x0, axis=tuple(a["axes"]), keepdims=a.get("keepDims", False), ddof=a["correction"])',
  },
  ...byParts(parts),
  traits: ["pure", "reduction", "sensitive"],
  samples: withDoubles([
    sample("last axis, odd sizes", [normal(1, [3, 5])], { axes: [-1], correction: 0 }),
    sample("two axes, kept, of a sample", [normal(2, [2, 3, 4])], { axes: [0, 2], keepDims: true, correction: 1 }),
    sample("symbolic rows", [normal(3, ["T", 7], 3)], { axes: [0], correction: 1 }, { bindings: { T: 3 } }),
    sample("far from zero", [normal(4, [9], 1, 50)], { axes: [0], correction: 0 }),
    sample("no lines", [values([], [0, 3])], { axes: [1], correction: 0 }),
  ]),
});
