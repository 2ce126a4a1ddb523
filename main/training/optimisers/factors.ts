/**
 * Factors of matrices, written over the algebra like everything that optimisers do: they need no library, and run where the
 * graph runs. A loop turns once for each row, column or pair, so a factor of an n × n matrix takes n turns of work n².
 */
import type { Algebra } from "../algebra.ts";
import { item, norm, scale } from "../algebra.ts";

const one = <T>(a: Algebra<T>, turn: T, size: number): T => a.equal(a.count(size), turn);
const column = <T>(a: Algebra<T>, turn: T, size: number): T => a.reshape(one(a, turn, size), [size, 1]);
const row = <T>(a: Algebra<T>, turn: T, size: number): T => a.reshape(one(a, turn, size), [1, size]);
const sizeOf = <T>(a: Algebra<T>, matrix: T): number => item(a.shapeOf(matrix), 0);

export const trace = <T>(a: Algebra<T>, matrix: T): T => a.sum(a.mul(matrix, a.identity(sizeOf(a, matrix))));

/** The diagonal, as a column. */
const diagonal = <T>(a: Algebra<T>, matrix: T): T => a.sum(a.mul(matrix, a.identity(sizeOf(a, matrix))), [1]);

/**
 * Q of A = Q R: columns made orthogonal one after the other (Gram and Schmidt, each twice, since once loses digits). R has a
 * diagonal above zero, so the result is the only one with that sign. A column that depends on those before it becomes some
 * direction that is orthogonal to them, where its rounding is not exactly zero.
 */
export function orthonormal<T>(a: Algebra<T>, matrix: T): T {
  const size = sizeOf(a, matrix);
  const start = a.sub(matrix, matrix);
  const [basis] = a.loop(size, [start], [matrix], (b, turn, [made], [columns]) => {
    const [before, all] = [present(made), present(columns)];
    const clean = <U>(c: Algebra<U>, known: U, v: U): U => {
      const rest = c.sub(v, c.matmul(known, c.matmul(c.transpose(known), v)));
      return c.div(rest, norm(c, rest));
    };
    const own = b.matmul(all, column(b, turn, size));
    const next = clean(b, before, clean(b, before, own));
    return [b.add(before, b.mul(next, row(b, turn, size)))];
  });
  return present(basis);
}

/** The inverse of an upper triangular matrix, from its last row to its first. */
export function inverseOfUpper<T>(a: Algebra<T>, matrix: T): T {
  const size = sizeOf(a, matrix);
  const start = a.sub(matrix, matrix);
  const [inverse] = a.loop(size, [start], [matrix], (b, turn, [made], [upper]) => {
    const place = b.sub(b.scalar(size - 1), turn);
    const unit = row(b, place, size);
    const own = b.matmul(unit, present(upper));
    const solved = b.div(b.sub(unit, b.matmul(own, present(made))), b.sum(b.mul(own, unit)));
    return [b.add(present(made), b.mul(column(b, place, size), solved))];
  });
  return present(inverse);
}

/** The upper triangle, with its diagonal. */
export function upperOf<T>(a: Algebra<T>, matrix: T): T {
  const size = sizeOf(a, matrix);
  const places = a.count(size);
  const below = a.greater(a.reshape(places, [size, 1]), a.reshape(places, [1, size]));
  return a.mul(matrix, a.sub(a.scalar(1), below));
}

/** Sweeps of Jacobi's method; after the sixth or so every further one doubles the digits that are there. */
const SWEEPS = 12;

/**
 * Eigenvectors of a symmetric matrix as columns, those of the largest eigenvalues first. Jacobi's method, in the order of a
 * tournament: in each round every place meets another one, and the rotations of all these pairs are done at once.
 */
export function eigenvectors<T>(a: Algebra<T>, matrix: T): T {
  const own = sizeOf(a, matrix);
  if (own === 1) return a.identity(1);
  // An odd number of places gets one more, which is zero and never turned; it stands first, where the tournament leaves it.
  const size = own + (own % 2);
  const even = size === own ? matrix : bordered(a, matrix);
  const [turned, basis] = a.loop(SWEEPS * (size - 1), [even, a.identity(size)], [], (b, _turn, [now, vectors]) =>
    round(b, present(now), present(vectors)),
  );
  const [values, all] = [present(turned), present(basis)];
  if (size === own) return a.matmul(all, descending(a, diagonal(a, values)));
  const inner = (x: T): T => a.narrow(a.narrow(x, 0, 1, own), 1, 1, own);
  return a.matmul(inner(all), descending(a, diagonal(a, inner(values))));
}

/** With a row and a column of zeros in front. */
function bordered<T>(a: Algebra<T>, matrix: T): T {
  const side = scale(a, a.narrow(matrix, 1, 0, 1), 0);
  const wide = a.concat([side, matrix], 1);
  return a.concat([scale(a, a.narrow(wide, 0, 0, 1), 0), wide], 0);
}

/** Place k meets place half + k; then all but the first move on by one. */
function round<T>(a: Algebra<T>, now: T, vectors: T): readonly T[] {
  const size = sizeOf(a, now);
  const half = size / 2;
  const quarter = (x: number, y: number): T => a.narrow(a.narrow(now, 0, x * half, half), 1, y * half, half);
  const [p, q, pq] = [diagonal(a, quarter(0, 0)), diagonal(a, quarter(1, 1)), diagonal(a, quarter(0, 1))];
  const difference = a.sub(q, p);
  const isNegative = a.greater(a.scalar(0), difference);
  const sign = a.sub(a.scalar(1), scale(a, isNegative, 2));
  const lower = a.add(a.abs(difference), a.sqrt(a.add(a.mul(difference, difference), scale(a, a.mul(pq, pq), 4))));
  const tangent = a.div(scale(a, a.mul(sign, pq), 2), a.max(lower, a.scalar(1e-30)));
  const cosine = a.div(a.scalar(1), a.sqrt(a.add(a.mul(tangent, tangent), a.scalar(1))));
  const sine = a.mul(tangent, cosine);
  const order = tournament(half);
  const along = (x: T, axis: number): T => {
    const [c, s] = axis === 0 ? [cosine, sine] : [a.transpose(cosine), a.transpose(sine)];
    const [first, second] = [a.narrow(x, axis, 0, half), a.narrow(x, axis, half, half)];
    const turned = [a.sub(a.mul(first, c), a.mul(second, s)), a.add(a.mul(first, s), a.mul(second, c))];
    return a.take(a.concat(turned, axis), axis, order);
  };
  return [along(along(now, 0), 1), along(vectors, 1)];
}

/** Where each place gets its next one from. */
function tournament(half: number): readonly number[] {
  const upper = Array.from({ length: half }, (_, k) => k);
  const lower = upper.map((k) => half + k);
  if (half === 1) return [...upper, ...lower];
  return [0, half, ...upper.slice(1, -1), ...lower.slice(1), half - 1];
}

/** The permutation that puts the columns of the largest numbers first; equal ones stay in their order. */
export function descending<T>(a: Algebra<T>, values: T): T {
  const size = sizeOf(a, values);
  const across = a.transpose(values);
  const places = a.count(size);
  const before = a.greater(a.reshape(places, [size, 1]), a.reshape(places, [1, size]));
  // Of row i: how many numbers are larger, and how many equal ones stand before it.
  const ahead = a.add(a.greater(across, values), a.mul(a.equal(across, values), before));
  return a.equal(a.sum(ahead, [1]), a.reshape(places, [1, size]));
}

/** The diagonal of Qᵀ A Q as a column: what the eigenvalues would be if the columns of Q were eigenvectors. */
export const estimates = <T>(a: Algebra<T>, matrix: T, basis: T): T =>
  a.reshape(a.sum(a.mul(basis, a.matmul(matrix, basis)), [0]), [sizeOf(a, matrix), 1]);

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new RangeError("a loop gives what it carries");
  return value;
}
