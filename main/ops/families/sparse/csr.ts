/**
 * Sparse matrices as three operands: the numbers that are stored, row by row; the column of each; and for each row where
 * its numbers begin, with their count behind the last row (compressed sparse rows, as SciPy's csr_matrix has them).
 * What is worked out over them is plain TypeScript: a function of the host program.
 */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { HostTensor } from "../../../ir/hostTensor.ts";
import { formatType } from "../../../ir/type.ts";
import { at } from "../host.ts";

export interface Csr {
  readonly rows: number;
  readonly values: Float64Array;
  readonly columns: Float64Array;
  readonly offsets: Float64Array;
}

/** Checks the structure: offsets that rise from 0 to the count, columns of a matrix that is so wide. */
export function csrOf(
  name: string,
  [values, columns, offsets, x]: readonly (HostTensor | undefined)[],
): { readonly matrix: Csr; readonly x: HostTensor } {
  const fail = (what: string): never => {
    throw new WorkbenchError("RUN_FAILED", `[${name}] ${what}`, {
      hint: "The operands are values [n], columns i32[n], offsets i32[rows + 1] and a vector.",
    });
  };
  if (!values || !columns || !offsets || !x) return fail("operands: got fewer than four, expected four");
  const all = [values, columns, offsets, x];
  if (all.some(({ shape }) => shape.length !== 1) || offsets.data.length === 0)
    return fail(`operands: got ${all.map(formatType).join(", ")}, expected vectors, and one offset at least`);
  const count = values.data.length;
  if (columns.data.length !== count) return fail(`columns: got ${columns.data.length}, expected ${count}, one a value`);
  const rises = offsets.data.every(
    (offset, row) => Number.isInteger(offset) && offset >= at(offsets.data, row - 1 < 0 ? 0 : row - 1),
  );
  if (!rises || at(offsets.data, 0) !== 0 || offsets.data.at(-1) !== count)
    return fail(
      `offsets: got ${offsets.data.slice(0, 8).join(", ")}, expected whole numbers that rise from 0 to ${count}`,
    );
  return {
    matrix: { rows: offsets.data.length - 1, values: values.data, columns: columns.data, offsets: offsets.data },
    x,
  };
}

export function checkColumns(name: string, { columns }: Csr, width: number): void {
  const wrong = columns.find((column) => !Number.isInteger(column) || column < 0 || column >= width);
  if (wrong !== undefined)
    throw new WorkbenchError("RUN_FAILED", `[${name}] column: got ${wrong}, expected 0..${width - 1}`, {
      hint: "The matrix is as wide as the vector is long.",
    });
}

/** The row of each stored number. */
export function rowsOf({ rows, offsets, values }: Csr): Float64Array {
  const made = new Float64Array(values.length);
  for (let row = 0; row < rows; row++) made.fill(row, at(offsets, row), at(offsets, row + 1));
  return made;
}

/** y = A x */
export function multiply({ rows, values, columns, offsets }: Csr, x: Float64Array): Float64Array {
  return Float64Array.from({ length: rows }, (_, row) => {
    let sum = 0;
    for (let k = at(offsets, row); k < at(offsets, row + 1); k++) sum += at(values, k) * at(x, at(columns, k));
    return sum;
  });
}

/** Rows as maps from column to number; equal places are summed. With `flip`, rows of the transpose. */
function rowMaps(matrix: Csr, flip: boolean): Map<number, number>[] {
  const maps = Array.from({ length: matrix.rows }, () => new Map<number, number>());
  rowsOf(matrix).forEach((row, k) => {
    const column = at(matrix.columns, k);
    const [to, place] = flip ? [column, row] : [row, column];
    const map = maps[to];
    map?.set(place, (map.get(place) ?? 0) + at(matrix.values, k));
  });
  return maps;
}

/** A x = b by elimination with pivots over rows that hold what is not zero; NaN where A is singular or not finite. */
export function solve(matrix: Csr, b: Float64Array, flip: boolean): Float64Array {
  const n = matrix.rows;
  const nothing = (): Float64Array => new Float64Array(n).fill(NaN);
  if (![...matrix.values, ...b].every(Number.isFinite)) return nothing();
  const rows = rowMaps(matrix, flip).map((map, i) => ({ map, right: at(b, i) }));
  for (let p = 0; p < n; p++) {
    let best = p;
    const size = (i: number): number => Math.abs(rows[i]?.map.get(p) ?? 0);
    for (let i = p + 1; i < n; i++) if (size(i) > size(best)) best = i;
    const pivot = rows[best];
    const here = rows[p];
    const top = pivot?.map.get(p) ?? 0;
    if (pivot === undefined || here === undefined || top === 0) return nothing();
    rows[best] = here;
    rows[p] = pivot;
    for (const row of rows.slice(p + 1)) {
      const factor = (row.map.get(p) ?? 0) / top;
      if (factor === 0) continue;
      for (const [column, value] of pivot.map) row.map.set(column, (row.map.get(column) ?? 0) - factor * value);
      row.right -= factor * pivot.right;
    }
  }
  const x = new Float64Array(n);
  for (let p = n - 1; p >= 0; p--) {
    const row = rows[p];
    let rest = row?.right ?? NaN;
    for (const [column, value] of row?.map ?? []) if (column > p) rest -= value * at(x, column);
    x[p] = rest / (row?.map.get(p) ?? NaN);
  }
  return x;
}

/** Relative to |b|, squared: as far as float64 goes. */
const SMALL = 1e-28;
const TURNS_A_ROW = 10;

const dot = (x: Float64Array, y: Float64Array): number => x.reduce((sum, value, i) => sum + value * at(y, i), 0);

/** A x = b by conjugate gradients (Hestenes and Stiefel, 1952), for a symmetric positive A. */
export function conjugateGradients(name: string, matrix: Csr, b: Float64Array): Float64Array {
  const x = new Float64Array(b.length);
  const rest = b.slice();
  const way = b.slice();
  let size = dot(rest, rest);
  const enough = SMALL * size;
  for (let turn = 0; size > enough; turn++) {
    const step = multiply(matrix, way);
    const bend = dot(way, step);
    if (!(bend > 0) || turn >= TURNS_A_ROW * b.length + 100)
      throw new WorkbenchError(
        "RUN_FAILED",
        `[${name}] after ${turn} turns: got a residual of ${Math.sqrt(size).toExponential(1)}, expected a symmetric positive matrix`,
        { hint: "Use csr_solve for other matrices." },
      );
    const far = size / bend;
    for (let i = 0; i < x.length; i++) {
      x[i] = at(x, i) + far * at(way, i);
      rest[i] = at(rest, i) - far * at(step, i);
    }
    const next = dot(rest, rest);
    for (let i = 0; i < x.length; i++) way[i] = at(rest, i) + (next / size) * at(way, i);
    size = next;
  }
  return Number.isFinite(size) ? x : x.fill(NaN);
}
