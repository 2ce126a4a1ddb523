import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { at } from "../families/host.ts";
import type { LinesAttrs } from "../families/lines.ts";
import { inferLinePairs, linesSchema, mapLines } from "../families/lines.ts";
import { byParts } from "../families/parts.ts";
import { normal, normals, sample, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

const parts = (g: OpBuilder, [x, y]: readonly [Value, Value], attrs: LinesAttrs): Value =>
  g.reduce([g.square([g.sub([x, y])])], { ...attrs, kind: "mean" });

export const mse: Op<"mse", LinesAttrs, 2> = defineOp({
  name: "mse",
  summary: "The mean of (prediction − target)² along some axes.",
  arity: 2,
  operands: ["prediction", "target"],
  outputs: "one",
  attributes: linesSchema,
  infer: (pair, attrs) => inferLinePairs("mse", pair, attrs),
  reference: ([x, y], { axes }, [type]) => {
    const squares = hostTensor(
      x.dtype,
      x.shape,
      x.data.map((value, i) => (value - at(y.data, i)) ** 2),
    );
    return mapLines(squares, axes, type, (line) => line.reduce((sum, value) => sum + value, 0) / line.length);
  },
  oracle: { numpy: 'np.mean((x0 - x1) ** 2, axis=tuple(a["axes"]), keepdims=a.get("keepDims", False))' },
  ...byParts(parts),
  traits: ["pure", "reduction", "sensitive"],
  samples: withDoubles([
    sample("all axes, odd sizes", normals(1, [3, 5], [3, 5]), { axes: [0, 1] }),
    sample(
      "last axis, kept, symbolic rows",
      normals(3, ["T", 7], ["T", 7]),
      { axes: [-1], keepDims: true },
      { bindings: { T: 3 } },
    ),
    sample("far from zero", [normal(5, [9], 1, 50), normal(6, [9], 1, 50)], { axes: [0] }),
    sample(
      "NaN and infinities",
      [values([NaN, 1, Infinity, 1], [2, 2]), values([1, 2, 1, 2], [2, 2])],
      { axes: [1] },
      { differentiable: false },
    ),
    sample("no lines", [values([], [0, 3]), values([], [0, 3])], { axes: [1] }),
  ]),
});
