import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { sizeOf } from "../../ir/hostTensor.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, everywhere } from "../defineOp.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { integers, normal, sample, values, withDoubles } from "../families/samples.ts";
import type { ScatterMode } from "../families/scatter.ts";
import {
  mlxScatters,
  namedAxes,
  placesOf,
  scatterPlaces,
  scatterReference,
  scatterType,
  splitIndices,
} from "../families/scatter.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface ScatterNdAttrs {
  readonly mode: ScatterMode;
}

function parts(
  g: OpBuilder,
  [data, indices, updates]: readonly [Value, Value, Value],
  { mode }: ScatterNdAttrs,
): Value {
  const named = namedAxes("scatter_nd", g.typeOf(data), g.typeOf(indices));
  return scatterPlaces(g, data, splitIndices(g, indices, named), updates, mode);
}

export const scatter_nd: Op<"scatter_nd", ScatterNdAttrs, 3> = defineOp({
  name: "scatter_nd",
  summary:
    "The data with updates at positions along the first axes, in place of what is there or added to it; the updates of one position are added to one another.",
  arity: 3,
  operands: ["data", "indices", "updates"],
  outputs: "one",
  attributes: { mode: attr.oneOf(["update", "add"]) },
  infer: ([data, indices, updates]) => {
    const named = namedAxes("scatter_nd", data, indices);
    return scatterType("scatter_nd", data, updates, [...indices.shape.slice(0, -1), ...data.shape.slice(named)]);
  },
  reference: ([data, indices, updates], { mode }) => {
    const named = indices.shape.at(-1) ?? 1;
    const where = placesOf("scatter_nd", sizeOf(indices.shape.slice(0, -1)), data.shape.slice(0, named), (i, axis) =>
      at(indices.data, i * named + axis),
    );
    return scatterReference(data, where, updates, mode);
  },
  oracle: {
    numpy: lines(
      "out = np.array(x0)",
      "at = tuple(np.moveaxis(x1, -1, 0))",
      'out[at] = 0 if a["mode"] == "update" else out[at]',
      "np.add.at(out, at, x2)",
      "out",
    ),
  },
  ...byParts(parts),
  backends: {
    ...everywhere(parts),
    cpu: cpuKernel("scatter_nd", {
      takes: [NUMBERS, ["i32"], NUMBERS],
      params: ({ mode }) => ({ add: mode === "add" }),
    }),
    mlx: mlxCall<ScatterNdAttrs>("scatter_places", {
      takes: "numbers",
      attrs: ({ mode }) => ({ adds: mode === "add" }),
      when: mlxScatters,
    }),
  },
  traits: ["pure", "sensitive"],
  samples: withDoubles([
    sample(
      "elements replaced, odd sizes",
      [normal(1, [3, 5]), values([0, 4, 2, 1, 1, 0], [3, 2], "i32"), normal(2, [3])],
      { mode: "update" },
    ),
    sample("rows added, one of them twice", [normal(3, [4, 3]), values([1, 3, 1], [3, 1], "i32"), normal(4, [3, 3])], {
      mode: "add",
    }),
    sample(
      "symbolic count",
      [normal(5, [5, 2]), integers(6, ["T", 1], 0, 4), normal(7, ["T", 2])],
      { mode: "update" },
      { bindings: { T: 3 } },
    ),
    sample("whole numbers", [integers(8, [4], -9, 9), values([2, 0], [2, 1], "i32"), integers(9, [2], -9, 9)], {
      mode: "update",
    }),
    sample(
      "long whole numbers",
      [integers(11, [4], -9, 9, "i64"), values([2, 0], [2, 1], "i32"), integers(12, [2], -9, 9, "i64")],
      { mode: "add" },
    ),
    sample("no updates", [normal(10, [2, 3]), values([], [0, 1], "i32"), values([], [0, 3])], { mode: "update" }),
  ]),
});
