/**
 * x · wᵀ in double precision, the inner loop of the float64 references and of the simulator. Two rows by four columns at a time:
 * the eight sums do not wait for each other, and each number that is read serves several of them. Every sum goes through its terms
 * in order, so its bits do not depend on how many rows or columns stand beside it.
 */

/** Where the rows of an operand, or of the result, begin. */
interface RowOffsets {
  readonly x?: number;
  readonly w?: number;
  readonly out?: number;
}

/** Adds x [rows, inner] · w [columns, inner] transposed to what stands in `out` [rows, columns]. */
export function addRowProducts(
  x: Float64Array,
  w: Float64Array,
  out: Float64Array,
  [rows, columns, inner]: readonly [rows: number, columns: number, inner: number],
  { x: xAt = 0, w: wAt = 0, out: outAt = 0 }: RowOffsets = {},
): void {
  let n = 0;
  for (; n + 3 < columns; n += 4) {
    const at = wAt + n * inner;
    let m = 0;
    for (; m + 1 < rows; m += 2) twoByFour(x, xAt + m * inner, w, at, inner, out, outAt + m * columns + n, columns);
    if (m < rows) oneByFour(x, xAt + m * inner, w, at, inner, out, outAt + m * columns + n);
  }
  for (; n < columns; n++)
    for (let m = 0; m < rows; m++) {
      const [from, at, to] = [xAt + m * inner, wAt + n * inner, outAt + m * columns + n];
      let sum = out[to] as number;
      for (let k = 0; k < inner; k++) sum += (x[from + k] as number) * (w[at + k] as number);
      out[to] = sum;
    }
}

function twoByFour(
  x: Float64Array,
  xAt: number,
  w: Float64Array,
  wAt: number,
  inner: number,
  out: Float64Array,
  at: number,
  columns: number,
): void {
  const [x1, w1, w2, w3, next] = [xAt + inner, wAt + inner, wAt + 2 * inner, wAt + 3 * inner, at + columns];
  let [a0, a1, a2, a3] = [out[at] as number, out[at + 1] as number, out[at + 2] as number, out[at + 3] as number];
  let [b0, b1] = [out[next] as number, out[next + 1] as number];
  let [b2, b3] = [out[next + 2] as number, out[next + 3] as number];
  for (let k = 0; k < inner; k++) {
    const a = x[xAt + k] as number;
    const b = x[x1 + k] as number;
    const c0 = w[wAt + k] as number;
    a0 += a * c0;
    b0 += b * c0;
    const c1 = w[w1 + k] as number;
    a1 += a * c1;
    b1 += b * c1;
    const c2 = w[w2 + k] as number;
    a2 += a * c2;
    b2 += b * c2;
    const c3 = w[w3 + k] as number;
    a3 += a * c3;
    b3 += b * c3;
  }
  out[at] = a0;
  out[at + 1] = a1;
  out[at + 2] = a2;
  out[at + 3] = a3;
  out[next] = b0;
  out[next + 1] = b1;
  out[next + 2] = b2;
  out[next + 3] = b3;
}

function oneByFour(
  x: Float64Array,
  xAt: number,
  w: Float64Array,
  wAt: number,
  inner: number,
  out: Float64Array,
  at: number,
): void {
  const [w1, w2, w3] = [wAt + inner, wAt + 2 * inner, wAt + 3 * inner];
  let [a0, a1, a2, a3] = [out[at] as number, out[at + 1] as number, out[at + 2] as number, out[at + 3] as number];
  for (let k = 0; k < inner; k++) {
    const a = x[xAt + k] as number;
    a0 += a * (w[wAt + k] as number);
    a1 += a * (w[w1 + k] as number);
    a2 += a * (w[w2 + k] as number);
    a3 += a * (w[w3 + k] as number);
  }
  out[at] = a0;
  out[at + 1] = a1;
  out[at + 2] = a2;
  out[at + 3] = a3;
}
