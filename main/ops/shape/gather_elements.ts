import { MOVABLE, cpuKernel } from "../../backends/cpu/rules.ts";
import { attr } from "../../ir/attributes.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { normalizeAxis, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, everywhere } from "../defineOp.ts";
import { axisParam } from "../families/axes.ts";
import { at } from "../families/host.ts";
import { byParts } from "../families/parts.ts";
import { integers, normal, sample, values, withDoubles } from "../families/samples.ts";
import { alongAt, checkAlong, gatherPlaces, indicesAlong, placesOf } from "../families/scatter.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface GatherElementsAttrs {
  readonly axis: number;
}

const parts = (g: OpBuilder, [table, indices]: readonly [Value, Value], { axis }: GatherElementsAttrs): Value =>
  gatherPlaces(
    g,
    table,
    indicesAlong(g, indices, normalizeAxis(axis, g.typeOf(table).shape.length, "gather_elements")),
  );

export const gather_elements: Op<"gather_elements", GatherElementsAttrs, 2> = defineOp({
  name: "gather_elements",
  summary: "For each index the element that it names along one axis, at its own position along the others.",
  arity: 2,
  operands: ["table", "indices"],
  outputs: "one",
  attributes: { axis: attr.int() },
  infer: ([table, indices], { axis }) => {
    checkAlong("gather_elements", table, indices, normalizeAxis(axis, table.shape.length, "gather_elements"));
    return tensor(plainDType(table.dtype, "gather_elements"), indices.shape);
  },
  reference: ([table, indices], { axis }) => {
    const along = normalizeAxis(axis, table.shape.length, "gather_elements");
    const where = placesOf("gather_elements", indices.data.length, table.shape, alongAt(indices, along));
    return hostTensor(
      table.dtype,
      indices.shape,
      where.map((place) => at(table.data, place)),
    );
  },
  oracle: { numpy: 'np.take_along_axis(x0, x1.astype(np.int64), a["axis"])' },
  ...byParts(parts),
  backends: {
    ...everywhere(parts),
    cpu: cpuKernel("gather_elements", { takes: [MOVABLE, ["i32"]], params: axisParam("gather_elements") }),
    mlx: {
      kind: "native",
      emit: (e, [table, indices], { axis }, node) => {
        const along = normalizeAxis(axis, table.type.shape.length, "gather_elements");
        const checked = e.checks(indices, table.type.shape[along] ?? 0);
        return e.call("take_along", [table, indices], node.outputs, { axis: along, checked });
      },
    },
  },
  traits: ["pure", "movement"],
  samples: withDoubles([
    sample("last axis, odd sizes", [normal(1, [3, 5]), integers(2, [3, 2], 0, 4)], { axis: -1 }),
    sample("middle of three", [normal(3, [2, 3, 2]), integers(4, [2, 5, 2], 0, 2)], { axis: 1 }),
    sample("symbolic rows", [normal(5, ["T", 3]), integers(6, ["T", 2], 0, 2)], { axis: 1 }, { bindings: { T: 3 } }),
    sample("whole numbers", [integers(7, [4], -9, 9), integers(8, [6], 0, 3)], { axis: 0 }),
    sample("truth values", [integers(9, [3, 4], 0, 1, "bool"), integers(10, [3, 2], 0, 3)], { axis: 1 }),
    sample("no rows", [values([], [0, 3]), values([], [0, 2], "i32")], { axis: 1 }),
  ]),
});
