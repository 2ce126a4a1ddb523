/**
 * What the factorisations of matrices are made of, over row-major matrices in float64: elimination, substitution,
 * reflections, rotations. The native engines take the same steps (native/src/core/factor.cpp), so that all agree on what
 * is singular and on signs.
 */
import { at } from "../host.ts";

export const MOST_SWEEPS = 60;

export const allFinite = (x: Float64Array): boolean => x.every(Number.isFinite);

/** x -= factor · y */
function subtract(x: Float64Array, factor: number, y: Float64Array): void {
  for (let i = 0; i < x.length; i++) x[i] = at(x, i) - factor * at(y, i);
}

export function product(x: Float64Array, y: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += at(x, i) * at(y, i);
  return sum;
}

/** (x, y) ← (c x - s y, s x + c y), for elements `stride` apart. */
export function rotate(x: Float64Array, y: Float64Array, [c, s]: readonly [number, number], stride = 1): void {
  for (let i = 0; i < x.length; i += stride) {
    const [a, b] = [at(x, i), at(y, i)];
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
  }
}

/** Cosine and sine of the turn that makes `both` zero between the squares or diagonal elements p and q. */
export function turnOf(p: number, q: number, both: number): readonly [number, number] {
  const zeta = (q - p) / (2 * both);
  const t = (zeta >= 0 ? 1 : -1) / (Math.abs(zeta) + Math.sqrt(1 + zeta * zeta));
  const c = 1 / Math.sqrt(1 + t * t);
  return [c, c * t];
}

/** A power of two near the largest number, so that squares stay in range. */
export function scaleOf(x: Float64Array): number {
  const most = x.reduce((so, value) => Math.max(so, Math.abs(value)), 0);
  return most === 0 ? 1 : 2 ** Math.min(Math.max(Math.floor(Math.log2(most)) + 1, -1000), 1000);
}

export const rowOf = (x: Float64Array, row: number, width: number): Float64Array =>
  x.subarray(row * width, row * width + width);

function swapRows(x: Float64Array, a: number, b: number, width: number): void {
  const kept = rowOf(x, a, width).slice();
  rowOf(x, a, width).set(rowOf(x, b, width));
  rowOf(x, b, width).set(kept);
}

/**
 * Gaussian elimination in place, the largest of a column as the pivot; rows of b [n, k] follow. Gives the sign of the
 * permutation, or 0 for a singular matrix.
 */
export function eliminate(a: Float64Array, n: number, b: Float64Array, k: number): number {
  let sign = 1;
  for (let p = 0; p < n; p++) {
    let best = p;
    for (let i = p + 1; i < n; i++) if (Math.abs(at(a, i * n + p)) > Math.abs(at(a, best * n + p))) best = i;
    if (at(a, best * n + p) === 0) return 0;
    if (best !== p) {
      swapRows(a, p, best, n);
      swapRows(b, p, best, k);
      sign = -sign;
    }
    for (let i = p + 1; i < n; i++) {
      const factor = at(a, i * n + p) / at(a, p * n + p);
      subtract(rowOf(a, i, n).subarray(p + 1), factor, rowOf(a, p, n).subarray(p + 1));
      subtract(rowOf(b, i, k), factor, rowOf(b, p, k));
    }
  }
  return sign;
}

/** t x = b for a triangle t [n, n], in place of b [n, k]. */
export function substitute(
  t: Float64Array,
  n: number,
  b: Float64Array,
  k: number,
  { lower, unit }: { readonly lower: boolean; readonly unit: boolean },
): void {
  for (let step = 0; step < n; step++) {
    const i = lower ? step : n - 1 - step;
    const row = rowOf(b, i, k);
    for (let j = lower ? 0 : i + 1; j < (lower ? i : n); j++) subtract(row, at(t, i * n + j), rowOf(b, j, k));
    if (!unit) for (let c = 0; c < k; c++) row[c] = at(row, c) / at(t, i * n + i);
  }
}

/** Columns of b that are not finite have no answer. */
export function withoutAnswer(b: Float64Array, k: number, x: Float64Array): void {
  b.forEach((value, i) => {
    if (!Number.isFinite(value)) for (let j = i % k; j < x.length; j += k) x[j] = NaN;
  });
}

/** x ← (1 - 2 v vᵀ / squares) x for the last rows of x, from a column on. */
export function reflect(v: Float64Array, squares: number, x: Float64Array, columns: number, from: number): void {
  const first = x.length / columns - v.length;
  const sums = new Float64Array(columns);
  v.forEach((value, i) => {
    for (let j = from; j < columns; j++) sums[j] = at(sums, j) + value * at(x, (first + i) * columns + j);
  });
  v.forEach((value, i) => {
    const factor = (2 * value) / squares;
    subtract(rowOf(x, first + i, columns).subarray(from), factor, sums.subarray(from));
  });
}

/** Signs so that the largest number of each row of `first` is positive; rows of `second` go along. */
export function setSigns(first: Float64Array, width: number, second: Float64Array, other: number, rows: number): void {
  for (let i = 0; i < rows; i++) {
    const row = rowOf(first, i, width);
    const best = row.reduce((so, value) => (Math.abs(value) > Math.abs(so) ? value : so), 0);
    if (best < 0) for (const part of [row, rowOf(second, i, other)]) part.forEach((value, j) => (part[j] = -value));
  }
}

/** Row `count` becomes a unit row that is orthogonal to those before it. */
export function complete(rows: Float64Array, count: number, width: number): void {
  const row = rowOf(rows, count, width);
  for (let axis = 0; axis < width; axis++) {
    row.fill(0);
    row[axis] = 1;
    for (let again = 0; again < 2; again++)
      for (let i = 0; i < count; i++) subtract(row, product(row, rowOf(rows, i, width)), rowOf(rows, i, width));
    const size = product(row, row);
    if (size * 2 * width < 1) continue;
    row.forEach((value, i) => (row[i] = value / Math.sqrt(size)));
    return;
  }
}

/** One-sided Jacobi: rotations make the rows of w orthogonal, and turn those of v with them. */
export function orthogonalise(w: Float64Array, width: number, v: Float64Array, rows: number): void {
  const small = 2 ** -51;
  let turned = true;
  for (let sweep = 0; sweep < MOST_SWEEPS && turned; sweep++) {
    turned = false;
    for (let i = 0; i < rows; i++)
      for (let j = i + 1; j < rows; j++) {
        const [x, y] = [rowOf(w, i, width), rowOf(w, j, width)];
        const [p, q, both] = [product(x, x), product(y, y), product(x, y)];
        if (!(Math.abs(both) > small * Math.sqrt(p * q))) continue;
        const turn = turnOf(p, q, both);
        rotate(x, y, turn);
        rotate(rowOf(v, i, rows), rowOf(v, j, rows), turn);
        turned = true;
      }
  }
}

export function identity(n: number): Float64Array {
  const made = new Float64Array(n * n);
  for (let i = 0; i < n; i++) made[i * n + i] = 1;
  return made;
}

export const transposed = (x: Float64Array, rows: number, columns: number): Float64Array =>
  x.map((_, i) => at(x, (i % rows) * columns + Math.floor(i / rows)));
