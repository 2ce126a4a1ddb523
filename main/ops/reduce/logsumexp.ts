import type { Value } from "../../ir/graph.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { byParts } from "../families/parts.ts";
import { inferLines, largest, linesSchema, mapLines } from "../families/lines.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import type { LinesAttrs } from "../families/lines.ts";
import { scalarLike } from "../families/constants.ts";

/** The largest is taken out where it is a number: of no elements it is −∞, and so is the logarithm of their sum. */
function parts(g: OpBuilder, [x]: readonly [Value], { axes, keepDims = false }: LinesAttrs): Value {
  const most = largest(g, x, { axes, keepDims: true }, -Infinity);
  const base = g.stop_gradient([g.where([g.is_finite([most]), most, scalarLike(g, x, 0)])]);
  const sum = g.reduce([g.exp([g.sub([x, base])])], { kind: "sum", axes, keepDims });
  const log = g.log([sum]);
  return g.add([log, keepDims ? base : g.reshape([base], { shape: g.typeOf(log).shape })]);
}

export const logsumexp: Op<"logsumexp", LinesAttrs, 1> = defineOp({
  name: "logsumexp",
  summary: "The logarithm of the sum of exponentials along some axes, without overflow.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: linesSchema,
  infer: ([x], attrs) => inferLines("logsumexp", x, attrs),
  reference: ([x], { axes }, [type]) =>
    mapLines(x, axes, type, (line) => {
      const most = line.reduce((a, b) => Math.max(a, b), -Infinity);
      const base = Number.isFinite(most) ? most : 0;
      return base + Math.log(line.reduce((sum, value) => sum + Math.exp(value - base), 0));
    }),
  oracle: { numpy: 'scipy.special.logsumexp(x0, axis=tuple(a["axes"]), keepdims=a.get("keepDims", False))' },
  ...byParts(parts),
  traits: ["pure", "reduction", "sensitive"],
  samples: withDoubles([
    sample("last axis, odd sizes", [normal(1, [3, 5])], { axes: [-1] }),
    sample("two axes, kept", [normal(2, [2, 3, 4])], { axes: [0, 2], keepDims: true }),
    sample("symbolic rows", [normal(3, ["T", 7], 3)], { axes: [0] }, { bindings: { T: 3 } }),
    sample("large values", [values([1000, 1001, 999, -1000])], { axes: [0] }),
    sample(
      "infinities",
      [values([-Infinity, -Infinity, -Infinity, 1, Infinity, 1], [3, 2])],
      { axes: [1] },
      { differentiable: false },
    ),
    sample("no lines", [values([], [0, 3])], { axes: [1] }),
    sample("an empty axis", [values([], [3, 0, 4])], { axes: [1] }, { differentiable: false }),
    sample(
      "a symbolic axis without elements",
      [values([], [3, "T"])],
      { axes: [1] },
      { bindings: { T: 0 }, differentiable: false },
    ),
    sample("no elements, kept", [values([], [0])], { axes: [-1], keepDims: true }, { differentiable: false }),
  ]),
});
