import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { normalizeAxis } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, everywhere } from "../defineOp.ts";
import { rankOf } from "../families/axes.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { integers, normal, sample, values, withDoubles } from "../families/samples.ts";
import type { ScatterMode } from "../families/scatter.ts";
import {
  alongAt,
  checkAlong,
  indicesAlong,
  mlxScatters,
  placesOf,
  scatterPlaces,
  scatterReference,
  scatterType,
} from "../families/scatter.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface ScatterElementsAttrs {
  readonly axis: number;
  readonly mode: ScatterMode;
}

function parts(
  g: OpBuilder,
  [data, indices, updates]: readonly [Value, Value, Value],
  { axis, mode }: ScatterElementsAttrs,
): Value {
  const along = normalizeAxis(axis, g.typeOf(data).shape.length, "scatter_elements");
  return scatterPlaces(g, data, indicesAlong(g, indices, along), updates, mode);
}

export const scatter_elements: Op<"scatter_elements", ScatterElementsAttrs, 3> = defineOp({
  name: "scatter_elements",
  summary:
    "The data with each update where its index names a position along one axis, at its own position along the others, in place of what is there or added to it; the updates of one position are added to one another.",
  arity: 3,
  operands: ["data", "indices", "updates"],
  outputs: "one",
  attributes: { axis: attr.int(), mode: attr.oneOf(["update", "add"]) },
  infer: ([data, indices, updates], { axis }) => {
    checkAlong("scatter_elements", data, indices, normalizeAxis(axis, data.shape.length, "scatter_elements"));
    return scatterType("scatter_elements", data, updates, indices.shape);
  },
  reference: ([data, indices, updates], { axis, mode }) => {
    const along = normalizeAxis(axis, data.shape.length, "scatter_elements");
    const where = placesOf("scatter_elements", indices.data.length, data.shape, alongAt(indices, along));
    return scatterReference(data, where, updates, mode);
  },
  oracle: {
    numpy: lines(
      "out = np.array(x0)",
      "at = list(np.indices(x1.shape))",
      'at[a["axis"]] = x1',
      "at = tuple(at)",
      'out[at] = 0 if a["mode"] == "update" else out[at]',
      "np.add.at(out, at, x2)",
      "out",
    ),
  },
  ...byParts(parts),
  backends: {
    ...everywhere(parts),
    cpu: cpuKernel("scatter_elements", {
      takes: [NUMBERS, ["i32"], NUMBERS],
      params: ({ axis, mode }, node) => ({
        axis: normalizeAxis(axis, rankOf(node), "scatter_elements"),
        add: mode === "add",
      }),
    }),
    mlx: {
      kind: "native",
      emit: (e, [data, indices, updates], { axis, mode }, node) => {
        const along = normalizeAxis(axis, data.type.shape.length, "scatter_elements");
        const checked = e.checks(indices, data.type.shape[along] ?? 0);
        const attrs = { axis: along, adds: mode === "add", checked };
        return e.call("scatter_along", [data, indices, updates], node.outputs, attrs);
      },
      when: mlxScatters,
    },
  },
  traits: ["pure", "sensitive"],
  samples: withDoubles([
    sample(
      "replaced along the last axis, odd sizes",
      [normal(1, [3, 5]), values([0, 4, 2, 1, 1, 0], [3, 2], "i32"), normal(2, [3, 2])],
      { axis: -1, mode: "update" },
    ),
    sample("added, middle of three", [normal(3, [2, 3, 2]), integers(4, [2, 4, 2], 0, 2), normal(5, [2, 4, 2])], {
      axis: 1,
      mode: "add",
    }),
    sample(
      "symbolic rows",
      [normal(6, ["T", 3]), integers(7, ["T", 1], 0, 2), normal(8, ["T", 1])],
      { axis: 1, mode: "update" },
      { bindings: { T: 3 } },
    ),
    sample("whole numbers", [integers(9, [4], -9, 9), values([2, 0], [2], "i32"), integers(10, [2], -9, 9)], {
      axis: 0,
      mode: "update",
    }),
    sample(
      "long whole numbers",
      [integers(11, [4], -9, 9, "i64"), values([2, 0], [2], "i32"), integers(12, [2], -9, 9, "i64")],
      { axis: 0, mode: "add" },
    ),
    sample("no rows", [values([], [0, 3]), values([], [0, 2], "i32"), values([], [0, 2])], { axis: 1, mode: "add" }),
  ]),
});
