/** Reductions, ordering and scans along axes. */
import { elementCount, isFloat, tensorType } from "../types.ts";
import type { Arguments, Kernel } from "../../simulator/kernel.ts";
import type { PackageTensor } from "../../package/packageTensor.ts";
import { packageTensor } from "../../package/packageTensor.ts";
import { broadcastStrides, offsets } from "../../simulator/tensor.ts";
import type { Infer, Operators } from "./operator.ts";
import { EIGHT_EACH, each, namedDtype, same } from "./operator.ts";

/** One axis of a tensor as [outer, size, inner]. */
export function axisWalk(
  shape: readonly number[],
  axis: number,
): { readonly outer: number; readonly size: number; readonly inner: number } {
  return {
    outer: elementCount(shape.slice(0, axis)),
    size: shape[axis] ?? 1,
    inner: elementCount(shape.slice(axis + 1)),
  };
}

interface Fold {
  readonly start: number;
  readonly step: (total: number, v: number) => number;
  /** For int32, where float64 would lose digits before they wrap. */
  readonly whole?: (total: number, v: number) => number;
  readonly end?: (total: number, count: number) => number;
}

const sum = (total: number, v: number): number => total + v;

const FOLDS: Readonly<Record<string, Fold>> = {
  reduce_sum: { start: 0, step: sum },
  reduce_mean: { start: 0, step: sum, end: (t, n) => t / n },
  reduce_max: { start: -Infinity, step: Math.max },
  reduce_min: { start: Infinity, step: Math.min },
  reduce_prod: { start: 1, step: (t, v) => t * v, whole: Math.imul },
  reduce_sum_square: { start: 0, step: (t, v) => t + v * v },
  reduce_l1_norm: { start: 0, step: (t, v) => t + Math.abs(v) },
  reduce_l2_norm: { start: 0, step: (t, v) => t + v * v, end: Math.sqrt },
  reduce_log_sum: { start: 0, step: sum, end: Math.log },
};

export function reducedAxes(a: Arguments, rank: number): Set<number> {
  const axes = a.has("axes") ? a.numbers("axes") : Array.from({ length: rank }, (_, i) => i);
  return new Set(axes.map((axis) => (axis < 0 ? axis + rank : axis)));
}

/** The kept shape, and for each input element the output element it goes to. */
function reductionOf(
  a: Arguments,
  x: PackageTensor,
): { readonly shape: number[]; readonly kept: number[]; readonly to: Int32Array } {
  const axes = reducedAxes(a, x.shape.length);
  const kept = x.shape.map((d, i) => (axes.has(i) ? 1 : d));
  const shape = a.flag("keep_dims") ? kept : x.shape.filter((_, i) => !axes.has(i));
  return { shape, kept, to: offsets(x.shape, broadcastStrides(kept, x.shape)) };
}

const reduce =
  (fold: Fold): Kernel =>
  (a) => {
    const x = a.tensor("x");
    const { shape, kept, to } = reductionOf(a, x);
    const totals = new Float64Array(elementCount(kept)).fill(fold.start);
    const step = isFloat(x.dtype) ? fold.step : (fold.whole ?? fold.step);
    for (let i = 0; i < to.length; i++)
      totals[to[i] as number] = step(totals[to[i] as number] as number, x.data[i] as number);
    const count = x.data.length / Math.max(1, totals.length);
    return packageTensor(
      a.dtype,
      shape,
      fold.end === undefined ? totals : totals.map((t) => fold.end?.(t, count) ?? t),
    );
  };

const logSumExp: Kernel = (a) => {
  const x = a.tensor("x");
  const { shape, kept, to } = reductionOf(a, x);
  const largest = new Float64Array(elementCount(kept)).fill(-Infinity);
  for (let i = 0; i < to.length; i++)
    largest[to[i] as number] = Math.max(largest[to[i] as number] as number, x.data[i] as number);
  const totals = new Float64Array(largest.length);
  for (let i = 0; i < to.length; i++)
    totals[to[i] as number] =
      (totals[to[i] as number] as number) + Math.exp((x.data[i] as number) - (largest[to[i] as number] as number));
  return packageTensor(
    a.dtype,
    shape,
    totals.map((t, i) => Math.log(t) + (largest[i] ?? 0)),
  );
};

/** The first of the best elements along an axis; the first NaN, where there is one. */
const argBest =
  (better: (v: number, best: number) => boolean): Kernel =>
  (a) => {
    const x = a.tensor("x");
    const axis = a.axis("axis", x.shape.length);
    const { outer, size, inner } = axisWalk(x.shape, axis);
    const out = new Int32Array(outer * inner);
    for (let o = 0; o < outer; o++)
      for (let i = 0; i < inner; i++) {
        const at = (j: number): number => x.data[(o * size + j) * inner + i] as number;
        let best = 0;
        for (let j = 0; j < size && !Number.isNaN(at(best)); j++)
          if (Number.isNaN(at(j)) || better(at(j), at(best))) best = j;
        out[o * inner + i] = best;
      }
    const shape = x.shape.flatMap((d, i) => (i === axis ? (a.flag("keep_dims") ? [1] : []) : [d]));
    return packageTensor(a.dtype, shape, out);
  };

/** NaN is larger than every number. */
function compare(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Order of the elements along an axis; equal ones keep their places. */
function ordered(
  x: PackageTensor,
  axis: number,
  ascending: boolean,
  take: number,
): { readonly values: Float64Array; readonly indices: Int32Array } {
  const { outer, size, inner } = axisWalk(x.shape, axis);
  const values = new Float64Array(outer * take * inner);
  const indices = new Int32Array(values.length);
  for (let o = 0; o < outer; o++)
    for (let i = 0; i < inner; i++) {
      const at = (j: number): number => x.data[(o * size + j) * inner + i] as number;
      const order = Array.from({ length: size }, (_, j) => j).sort(
        (p, q) => (ascending ? compare(at(p), at(q)) : compare(at(q), at(p))) || p - q,
      );
      for (let j = 0; j < take; j++) {
        const to = (o * take + j) * inner + i;
        values[to] = at(order[j] ?? 0);
        indices[to] = order[j] ?? 0;
      }
    }
  return { values, indices };
}

const topk: Kernel = (a) => {
  const x = a.tensor("x");
  const axis = a.axis("axis", x.shape.length);
  const k = a.number("k");
  const { values, indices } = ordered(x, axis, a.flag("ascending"), k);
  const shape = x.shape.map((d, i) => (i === axis ? k : d));
  return [packageTensor(x.dtype, shape, values), packageTensor(a.outputs[1]?.dtype ?? "int32", shape, indices)];
};

const argsort: Kernel = (a) => {
  const x = a.tensor("x");
  const axis = a.axis("axis", x.shape.length);
  return packageTensor("int32", x.shape, ordered(x, axis, a.flag("ascending"), x.shape[axis] ?? 0).indices);
};

const cumsum: Kernel = (a) => {
  const x = a.tensor("x");
  const { outer, size, inner } = axisWalk(x.shape, a.axis("axis", x.shape.length));
  const [exclusive, reverse] = [a.flag("exclusive"), a.flag("reverse")];
  const out = new Float64Array(x.data.length);
  for (let o = 0; o < outer; o++)
    for (let i = 0; i < inner; i++) {
      let total = 0;
      for (let step = 0; step < size; step++) {
        const at = (o * size + (reverse ? size - 1 - step : step)) * inner + i;
        const next = total + (x.data[at] as number);
        out[at] = exclusive ? total : next;
        total = next;
      }
    }
  return packageTensor(a.dtype, x.shape, out);
};

const softmax: Kernel = (a) => {
  const x = a.tensor("x");
  const { outer, size, inner } = axisWalk(x.shape, a.axis("axis", x.shape.length));
  const out = new Float32Array(x.data.length);
  const row = new Float64Array(size);
  for (let o = 0; o < outer; o++)
    for (let i = 0; i < inner; i++) {
      let largest = -Infinity;
      for (let j = 0; j < size; j++) largest = Math.max(largest, x.data[(o * size + j) * inner + i] as number);
      let total = 0;
      for (let j = 0; j < size; j++) {
        const e = Math.exp((x.data[(o * size + j) * inner + i] as number) - largest);
        row[j] = e;
        total += e;
      }
      for (let j = 0; j < size; j++) out[(o * size + j) * inner + i] = (row[j] as number) / total;
    }
  return packageTensor(a.dtype, x.shape, out);
};

// Types of the results.

const reducedType: Infer = (a) => {
  const x = a.tensor("x");
  const axes = new Set(
    (a.optionalNumbers("axes") ?? x.shape.map((_, i) => i)).map((axis) => a.normal(axis, x.shape.length)),
  );
  const keep = a.flag("keep_dims");
  return [
    tensorType(
      x.dtype,
      x.shape.flatMap((d, i) => (axes.has(i) ? (keep ? [1] : []) : [d])),
    ),
  ];
};

const positionType: Infer = (a) => {
  const x = a.tensor("x");
  const axis = a.axis("axis", x.shape.length);
  const keep = a.flag("keep_dims");
  return [
    tensorType(
      namedDtype(a, "output_dtype"),
      x.shape.flatMap((d, i) => (i === axis ? (keep ? [1] : []) : [d])),
    ),
  ];
};

const topkTypes: Infer = (a) => {
  const x = a.tensor("x");
  const axis = a.axis("axis", x.shape.length);
  const shape = x.shape.map((d, i) => (i === axis ? a.number("k") : d));
  return [tensorType(x.dtype, shape), tensorType(namedDtype(a, "output_indices_dtype"), shape)];
};

export const REDUCE: Operators = {
  ...each(
    { infer: reducedType },
    {
      ...Object.fromEntries(Object.entries(FOLDS).map(([name, fold]) => [name, reduce(fold)])),
      reduce_log_sum_exp: logSumExp,
    },
  ),
  ...each(
    { infer: positionType },
    {
      reduce_argmax: argBest((v, best) => v > best),
      reduce_argmin: argBest((v, best) => v < best),
    },
  ),
  topk: { infer: topkTypes, run: topk },
  argsort: { infer: (a) => [tensorType("int32", a.tensor("x").shape)], run: argsort },
  ...each({ infer: same }, { cumsum }),
  ...each({ infer: same, ...EIGHT_EACH }, { softmax }),
};
