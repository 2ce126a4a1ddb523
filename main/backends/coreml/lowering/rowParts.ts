/**
 * Matrices in parts of rows: an output matrix has as many rows as there are tokens, and the Neural Engine takes only so many.
 * Each part is a weight of its own over a range of the tensor's rows. Nothing is stored twice: what looks rows up looks in the parts.
 */
import type { CoremlEmitter } from "../emitter.ts";
import type { MilValue } from "../mil/types.ts";
import type { WeightTensor } from "../weights/plan.ts";
import { tensorOf } from "./reads32.ts";
import type { FunctionSource, RuleOf } from "./source.ts";

/** Parts begin at multiples of this, so that the last axis of each result needs no padding. */
const ALIGNMENT = 64;

/** Rows of a part, by tensor: of the matrices with more rows than `limit` that an op can calculate in parts. */
export function weightsToSplit(
  sources: readonly FunctionSource[],
  rules: RuleOf,
  limit: number,
): ReadonlyMap<string, number> {
  const splits = new Map<string, number>();
  if (limit === Infinity) return splits;
  for (const { graph } of sources)
    for (const { op, inputs } of graph.nodes) {
      const operand = inputs[rules(op)?.splits ?? -1];
      const param = operand && graph.nodes[operand.node];
      const [rows, columns] = param?.op === "param" ? (param.outputs[0]?.shape ?? []) : [];
      if (param === undefined || typeof rows !== "number" || columns === undefined || rows <= limit) continue;
      splits.set(tensorOf(param), partRows(rows, limit));
    }
  return splits;
}

/** Rows of all parts but the last: as few parts as the limit allows, nearly equal. */
export function partRows(rows: number, limit: number): number {
  const equal = Math.ceil(rows / Math.ceil(rows / limit));
  const aligned = Math.ceil(equal / ALIGNMENT) * ALIGNMENT;
  return aligned <= limit ? aligned : equal;
}

export function rowPartsOf(tensor: WeightTensor, size: number): readonly WeightTensor[] {
  const [rows = 0, ...rest] = tensor.shape;
  return Array.from({ length: Math.ceil(rows / size) }, (_, i) => ({
    name: `${tensor.name}.rows_${i * size}`,
    type: tensor.type,
    shape: [Math.min(size, rows - i * size), ...rest],
    part: { tensor: tensor.name, firstRow: i * size },
  }));
}

/** Rows of a table in parts: of each part the row that is nearest, and of these the one that was meant. */
export function rowsOfParts(
  e: CoremlEmitter,
  ids: MilValue,
  parts: readonly { readonly tensor: WeightTensor; readonly rows: (ids: MilValue) => MilValue }[],
): MilValue {
  const [first, ...others] = parts;
  const whole = (n: number): MilValue => e.constant("int32", [], [n]);
  let found = first?.rows(e.op("minimum", { x: ids, y: whole((first.tensor.shape[0] ?? 1) - 1) })) ?? ids;
  for (const { tensor, rows } of others) {
    const [count = 1] = tensor.shape;
    const start = tensor.part?.firstRow ?? 0;
    const within = e.op("maximum", { x: e.op("sub", { x: ids, y: whole(start) }), y: whole(0) });
    const picked = rows(e.op("minimum", { x: within, y: whole(count - 1) }));
    const reached = e.op("greater_equal", { x: ids, y: whole(start) });
    const rank = e.sizes(picked, "rows").length - e.sizes(ids, "rows").length;
    const spread = e.op("expand_dims", {
      x: reached,
      axes: Array.from({ length: rank }, (_, i) => -1 - i).toReversed(),
    });
    found = e.op("select", { cond: spread, a: picked, b: found });
  }
  return found;
}

/** Rows of a computed table by a product with ones where a row is meant: every sum has one term that is not zero. */
export function pickByProduct(e: CoremlEmitter, table: MilValue, ids: MilValue): MilValue {
  const [rows = 1, columns = 1] = e.sizes(table, "rows");
  const shape = e.sizes(ids, "rows");
  const out = [...shape, columns];
  if (rows === 1 && shape.every((size) => size === 1)) return e.op("reshape", { x: table, shape: out });
  const count = shape.reduce((product, size) => product * size, 1);
  const column = e.op("reshape", { x: ids, shape: [count, 1] });
  const places = e.constant(
    "int32",
    [1, rows],
    Int32Array.from({ length: rows }, (_, i) => i),
  );
  const ones = e.cast(e.op("equal", { x: column, y: places }), table.type.dtype);
  const product = e.op("matmul", { x: ones, y: table, transpose_x: false, transpose_y: false });
  return out.length === 2 ? product : e.op("reshape", { x: product, shape: out });
}
