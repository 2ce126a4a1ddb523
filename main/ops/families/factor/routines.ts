/**
 * The factorisations themselves, of one matrix each: the meaning of the ops of the same names. What is not finite, or has
 * no answer, gives NaN; where a factor's sign is free, it is chosen so that there is one answer.
 */
import { at } from "../host.ts";
import {
  MOST_SWEEPS,
  allFinite,
  complete,
  eliminate,
  identity,
  orthogonalise,
  product,
  reflect,
  rotate,
  rowOf,
  scaleOf,
  setSigns,
  substitute,
  transposed,
  turnOf,
  withoutAnswer,
} from "./steps.ts";

/** A matrix [rows, columns]. */
export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly data: Float64Array;
}
type Results = readonly Float64Array[];

const nothing = (...sizes: readonly number[]): Results => sizes.map((size) => new Float64Array(size).fill(NaN));

export function denseSolve(a: Matrix, b: Matrix): Results {
  const [n, k, x] = [a.rows, b.columns, b.data.slice()];
  const work = a.data.slice();
  if (!allFinite(work) || eliminate(work, n, x, k) === 0) return nothing(n * k);
  substitute(work, n, x, k, { lower: false, unit: false });
  withoutAnswer(b.data, k, x);
  return [x];
}

export interface Triangle {
  readonly upper: boolean;
  readonly transposed: boolean;
  readonly unit: boolean;
}

export function triangularSolve(a: Matrix, b: Matrix, { upper, transposed, unit }: Triangle): Results {
  const [n, k, x] = [a.rows, b.columns, b.data.slice()];
  const work = new Float64Array(n * n);
  let fine = true;
  for (let i = 0; i < n; i++)
    for (let j = upper ? i : 0; j < (upper ? n : i + 1); j++) {
      if (i === j && unit) continue;
      const value = at(a.data, i * n + j);
      fine &&= Number.isFinite(value) && (i !== j || value !== 0);
      work[transposed ? j * n + i : i * n + j] = value;
    }
  if (!fine) return nothing(n * k);
  substitute(work, n, x, k, { lower: upper === transposed, unit });
  withoutAnswer(b.data, k, x);
  return [x];
}

/** Reads the lower triangle, writes one and zeros above it. */
export function choleskyOf({ rows: n, data: a }: Matrix): Results {
  const l = new Float64Array(n * n);
  let fine = true;
  for (let i = 0; i < n; i++) fine &&= allFinite(rowOf(a, i, n).subarray(0, i + 1));
  for (let i = 0; i < n && fine; i++)
    for (let j = 0; j <= i && fine; j++) {
      const rest = at(a, i * n + j) - product(rowOf(l, i, n).subarray(0, j), rowOf(l, j, n).subarray(0, j));
      fine = i !== j || rest > 0;
      l[i * n + j] = i === j ? Math.sqrt(rest) : rest / at(l, j * n + j);
    }
  for (let i = 0; i < n && !fine; i++) l.fill(NaN, i * n, i * n + i + 1);
  return [l];
}

/** Householder's reflections; the diagonal of R is made positive. */
export function qrOf({ rows: m, columns: n, data }: Matrix): Results {
  const least = Math.min(m, n);
  if (!allFinite(data)) return nothing(m * least, least * n);
  const scale = scaleOf(data);
  const x = data.map((value) => value / scale);
  const vectors: { readonly v: Float64Array; readonly squares: number }[] = [];
  for (let k = 0; k < least; k++) {
    const v = Float64Array.from({ length: m - k }, (_, i) => at(x, (k + i) * n + k));
    const size = Math.sqrt(product(v, v));
    v[0] = at(v, 0) + (at(v, 0) < 0 ? -size : size);
    const squares = product(v, v);
    vectors.push({ v, squares });
    if (squares > 0) reflect(v, squares, x, n, k);
  }
  const q = new Float64Array(m * least);
  for (let k = 0; k < least; k++) q[k * least + k] = 1;
  for (const { v, squares } of vectors.toReversed()) if (squares > 0) reflect(v, squares, q, least, 0);
  const r = new Float64Array(least * n);
  for (let k = 0; k < least; k++) {
    const sign = at(x, k * n + k) < 0 ? -1 : 1;
    for (let j = k; j < n; j++) r[k * n + j] = sign * at(x, k * n + j) * scale;
    for (let i = 0; i < m; i++) q[i * least + k] = sign * at(q, i * least + k);
  }
  return [q, r];
}

/** Places in order; equals stay as they are. */
const orderOf = (values: Float64Array, compare: (a: number, b: number) => number): readonly number[] =>
  [...values.keys()].toSorted((i, j) => compare(at(values, i), at(values, j)));

/** Largest first; the largest number of each column of U is positive. */
export function svdOf({ rows: m, columns: n, data }: Matrix): Results {
  const [rows, width, tall] = [Math.min(m, n), Math.max(m, n), m >= n];
  if (!allFinite(data)) return nothing(m * rows, rows, rows * n);
  const scale = scaleOf(data);
  const w = (tall ? transposed(data, m, n) : data).map((value) => value / scale);
  const v = identity(rows);
  orthogonalise(w, width, v, rows);
  const sizes = Float64Array.from({ length: rows }, (_, i) =>
    Math.sqrt(product(rowOf(w, i, width), rowOf(w, i, width))),
  );
  const [long, short] = [new Float64Array(rows * width), new Float64Array(rows * rows)];
  const order = orderOf(sizes, (a, b) => b - a);
  order.forEach((from, i) => {
    short.set(rowOf(v, from, rows), i * rows);
    const size = at(sizes, from);
    if (size === 0) complete(long, i, width);
    else
      long.set(
        rowOf(w, from, width).map((value) => value / size),
        i * width,
      );
  });
  if (tall) setSigns(long, width, short, rows, rows);
  else setSigns(short, rows, long, width, rows);
  const [left, right] = tall ? [long, short] : [short, long];
  return [transposed(left, rows, m), Float64Array.from(order, (from) => at(sizes, from) * scale), right];
}

/** Jacobi's rotations of the lower triangle; smallest first, the largest number of each vector is positive. */
export function eighOf({ rows: n, data: a }: Matrix): Results {
  const x = a.map((_, i) => {
    const [row, column] = [Math.floor(i / n), i % n];
    return at(a, Math.max(row, column) * n + Math.min(row, column));
  });
  if (!allFinite(x)) return nothing(n, n * n);
  const scale = scaleOf(x);
  x.forEach((value, i) => (x[i] = value / scale));
  const small = 2 ** -60 * Math.sqrt(product(x, x));
  const v = identity(n);
  let turned = true;
  for (let sweep = 0; sweep < MOST_SWEEPS && turned; sweep++) {
    turned = false;
    for (let i = 0; i < n; i++)
      for (let j = i + 1; j < n; j++) {
        const both = at(x, i * n + j);
        if (!(Math.abs(both) > small)) continue;
        const turn = turnOf(at(x, i * n + i), at(x, j * n + j), both);
        rotate(rowOf(x, i, n), rowOf(x, j, n), turn);
        rotate(x.subarray(i), x.subarray(j), turn, n);
        x[i * n + j] = x[j * n + i] = 0;
        rotate(rowOf(v, i, n), rowOf(v, j, n), turn);
        turned = true;
      }
  }
  const diagonal = Float64Array.from({ length: n }, (_, i) => at(x, i * n + i));
  const order = orderOf(diagonal, (a, b) => a - b);
  const sorted = new Float64Array(n * n);
  order.forEach((from, i) => {
    sorted.set(rowOf(v, from, n), i * n);
  });
  setSigns(sorted, n, sorted, 0, n);
  return [Float64Array.from(order, (from) => at(diagonal, from) * scale), transposed(sorted, n, n)];
}

/** The pivots with the sign of their exchanges; undefined for a singular matrix. */
function pivots({ rows: n, data }: Matrix): { readonly sign: number; readonly values: readonly number[] } | undefined {
  const work = data.slice();
  const sign = eliminate(work, n, new Float64Array(0), 0);
  return sign === 0 ? undefined : { sign, values: Array.from({ length: n }, (_, i) => at(work, i * n + i)) };
}

export function detOf(a: Matrix): Results {
  if (!allFinite(a.data)) return nothing(1);
  const found = pivots(a);
  return [Float64Array.of(found === undefined ? 0 : found.values.reduce((made, pivot) => made * pivot, found.sign))];
}

/** Sign and logarithm of the size, as NumPy's slogdet. */
export function logdetOf(a: Matrix): Results {
  if (!allFinite(a.data)) return nothing(1, 1);
  const found = pivots(a);
  if (found === undefined) return [Float64Array.of(0), Float64Array.of(-Infinity)];
  const sign = found.values.reduce((made, pivot) => (pivot < 0 ? -made : made), found.sign);
  const sum = found.values.reduce((made, pivot) => made + Math.log(Math.abs(pivot)), 0);
  return [Float64Array.of(sign), Float64Array.of(sum)];
}
