import { MOVABLE, cpuKernel } from "../../backends/cpu/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, everywhere } from "../defineOp.ts";
import { at } from "../families/host.ts";
import { byParts } from "../families/parts.ts";
import { integers, normal, sample, values, withDoubles } from "../families/samples.ts";
import { gatherPlaces, namedAxes, placesOf, splitIndices } from "../families/scatter.ts";
import type { OpBuilder } from "../opBuilder.ts";

function parts(g: OpBuilder, [table, indices]: readonly [Value, Value]): Value {
  const named = namedAxes("gather_nd", g.typeOf(table), g.typeOf(indices));
  return gatherPlaces(g, table, splitIndices(g, indices, named));
}

export const gather_nd: Op<"gather_nd", NoAttrs, 2> = defineOp({
  name: "gather_nd",
  summary: "Picks by positions along the first axes: the last axis of the indices is one position.",
  arity: 2,
  operands: ["table", "indices"],
  outputs: "one",
  attributes: {},
  infer: ([table, indices]) => {
    const named = namedAxes("gather_nd", table, indices);
    return tensor(plainDType(table.dtype, "gather_nd"), [...indices.shape.slice(0, -1), ...table.shape.slice(named)]);
  },
  reference: ([table, indices]) => {
    const named = indices.shape.at(-1) ?? 1;
    const [kept, rest] = [indices.shape.slice(0, -1), table.shape.slice(named)];
    const inner = sizeOf(rest);
    const where = placesOf("gather_nd", sizeOf(kept), table.shape.slice(0, named), (i, axis) =>
      at(indices.data, i * named + axis),
    );
    const data = where.flatMap((place) => [...table.data.subarray(place * inner, (place + 1) * inner)]);
    return hostTensor(table.dtype, [...kept, ...rest], data);
  },
  oracle: { numpy: "x0[tuple(np.moveaxis(x1, -1, 0))]" },
  ...byParts(parts),
  backends: {
    ...everywhere(parts),
    cpu: cpuKernel("gather_nd", { takes: [MOVABLE, ["i32"]] }),
    mlx: mlxCall("take_places", { takes: "any" }),
  },
  traits: ["pure", "movement"],
  samples: withDoubles([
    sample("elements, odd sizes", [normal(1, [3, 5]), values([0, 4, 2, 1, 0, 4], [3, 2], "i32")], {}),
    sample("rows of two axes", [normal(2, [2, 3, 4]), values([1, 2, 0, 0], [2, 1, 2], "i32")], {}),
    sample("symbolic count", [normal(3, [5, 3]), integers(4, ["T", 1], 0, 4)], {}, { bindings: { T: 3 } }),
    sample("whole numbers", [integers(5, [4], -9, 9), integers(6, [2, 3, 1], 0, 3)], {}),
    sample("truth values", [integers(8, [3, 2], 0, 1, "bool"), values([0, 1, 2, 0, 1, 1], [3, 2], "i32")], {}),
    sample("no positions", [normal(7, [2, 3]), values([], [0, 2], "i32")], {}),
  ]),
});
