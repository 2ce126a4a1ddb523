import { attr } from "../../ir/attributes.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Value } from "../../ir/graph.ts";
import { formatType, normalizeAxis, sameType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { integers, normal, sample, values, withDoubles } from "../families/samples.ts";
import type { ScatterMode } from "../families/scatter.ts";
import { alongAt, checkAlong, indicesAlong, placesOf, scatterPlaces, scatterReference } from "../families/scatter.ts";
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
    const dtype = dtypeAmong("numbers", data.dtype, "scatter_elements");
    const wanted = tensor(dtype, indices.shape);
    if (!sameType(updates, wanted))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[scatter_elements] updates: got ${formatType(updates)}, expected ${formatType(wanted)}`,
      );
    return tensor(dtype, data.shape);
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
    sample("no rows", [values([], [0, 3]), values([], [0, 2], "i32"), values([], [0, 2])], { axis: 1, mode: "add" }),
  ]),
});
