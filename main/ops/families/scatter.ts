/** What gathers and scatters by positions along several axes share: their types, parts and references. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Shape } from "../../ir/dim.ts";
import { productOf } from "../../ir/dim.ts";
import { dtypeAmong, isFloat } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import type { NodeInfo } from "../../ir/nodeInfo.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape, sameType, tensor } from "../../ir/type.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { filled, scalarLike } from "./constants.ts";
import { at, indexWithin } from "./host.ts";
import { places } from "./positions.ts";

/** What becomes of the elements that are named: they are replaced, or added to. */
export type ScatterMode = "update" | "add";

/** The indices' last axis names so many of the table's first. */
export function namedAxes(op: string, table: TensorType, indices: TensorType): number {
  const named = indices.shape.at(-1);
  if (indices.dtype !== "i32" || typeof named !== "number" || named < 1 || named > table.shape.length)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] indices: got ${formatType(indices)}, expected i32 with 1 to ${table.shape.length} in the last axis for ${formatType(table)}`,
    );
  return named;
}

/** Indices of the table's rank and sizes, but along the axis. */
export function checkAlong(op: string, table: TensorType, indices: TensorType, axis: number): void {
  const size = indices.shape[axis];
  if (indices.dtype !== "i32" || size === undefined || !sameShape(table.shape.with(axis, size), indices.shape))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] indices: got ${formatType(indices)}, expected i32 of the shape of ${formatType(table)} but along axis ${axis}`,
    );
}

/** The type of a scatter's result, once the updates have this shape. */
export function scatterType(op: string, data: TensorType, updates: TensorType, shape: Shape): TensorType {
  const dtype = dtypeAmong("numbers", data.dtype, op);
  const wanted = tensor(dtype, shape);
  if (!sameType(updates, wanted))
    throw new WorkbenchError("IR_SHAPE", `[${op}] updates: got ${formatType(updates)}, expected ${formatType(wanted)}`);
  return tensor(dtype, data.shape);
}

/** MLX adds at indices in floats and int32 on every device. */
export const mlxScatters = ({ inputs: [data] }: NodeInfo<unknown>): true | string =>
  data === undefined || isFloat(data.dtype) || data.dtype === "i32"
    ? true
    : `MLX adds at indices in floats and int32 on every device, these are ${data.dtype}`;

/** The indices of each of the first axes, of the shape of the rest. */
export function splitIndices(g: OpBuilder, indices: Value, named: number): readonly Value[] {
  const { shape } = g.typeOf(indices);
  const axis = shape.length - 1;
  return Array.from({ length: named }, (_, start) =>
    g.reshape([g.narrow([indices], { axis, start, length: 1 })], { shape: shape.slice(0, axis) }),
  );
}

/** For each index along the axis the whole position it stands at, its own axis replaced. */
export const indicesAlong = (g: OpBuilder, indices: Value, axis: number): readonly Value[] => {
  const { shape } = g.typeOf(indices);
  return shape.map((_, i) => (i === axis ? indices : g.iota([], { shape, axis: i })));
};

/** Elements, or what stands behind the axes that are named, from a table of those axes in one. */
export function gatherPlaces(g: OpBuilder, table: Value, axes: readonly Value[]): Value {
  const { shape } = g.typeOf(table);
  const [front, rest] = [shape.slice(0, axes.length), shape.slice(axes.length)];
  const rows = g.reshape([table], { shape: [productOf(front), ...rest] });
  return g.gather([rows, places(g, axes, front)], { axis: 0 });
}

/** Into those places; the updates of one place are added to one another. */
export function scatterPlaces(
  g: OpBuilder,
  data: Value,
  axes: readonly Value[],
  updates: Value,
  mode: ScatterMode,
): Value {
  const { shape } = g.typeOf(data);
  const front = shape.slice(0, axes.length);
  const at = places(g, axes, front);
  const into = (values: Value, rest: Shape): Value =>
    g.reshape([g.scatter_add([values, at], { axis: 0, size: productOf(front) })], { shape: [...front, ...rest] });
  const rest = shape.slice(axes.length);
  const sums = into(updates, rest);
  if (mode === "add") return g.add([data, sums]);
  const counts = into(
    filled(g, "f32", g.typeOf(at).shape, 1),
    rest.map(() => 1),
  );
  return g.where([g.compare([counts, scalarLike(g, counts, 0)], { op: "gt" }), sums, data]);
}

/** Places of positions that `axisAt` gives for each index and axis. */
export function placesOf(
  op: string,
  count: number,
  sizes: readonly number[],
  axisAt: (index: number, axis: number) => number,
): readonly number[] {
  return Array.from({ length: count }, (_, i) =>
    sizes.reduce((place, size, axis) => place * size + indexWithin(axisAt(i, axis), size, op), 0),
  );
}

export function scatterReference(
  data: HostTensor,
  where: readonly number[],
  updates: HostTensor,
  mode: ScatterMode,
): HostTensor {
  const inner = where.length === 0 ? 0 : updates.data.length / where.length;
  const out = data.data.slice();
  const each = (f: (to: number, from: number) => number): void => {
    for (const [i, place] of where.entries())
      for (let k = 0; k < inner; k++) out[place * inner + k] = f(place * inner + k, i * inner + k);
  };
  if (mode === "update") each(() => 0);
  each((to, from) => at(out, to) + at(updates.data, from));
  return hostTensor(data.dtype, data.shape, out);
}

/** Of `indices` along one axis of a shape: the axis' own number from the index, the others from where it stands. */
export function alongAt(indices: HostTensor, axis: number): (index: number, axis: number) => number {
  const { shape } = indices;
  return (index, i) =>
    i === axis ? at(indices.data, index) : Math.floor(index / sizeOf(shape.slice(i + 1))) % at(shape, i);
}
