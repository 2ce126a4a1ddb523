/**
 * What an optimiser is written in: a small algebra of arrays. An optimiser is one function over it, and so it is written
 * once. Over `hostAlgebra.ts` it is plain TypeScript in float64, its meaning; over `graphAlgebra.ts` the same function adds
 * nodes to a graph, and runs wherever that graph does. Shapes are known numbers; operands broadcast as in NumPy.
 */
export interface Algebra<T> {
  readonly scalar: (value: number) => T;
  /** The matrix with ones on its diagonal. */
  readonly identity: (size: number) => T;
  readonly shapeOf: (x: T) => readonly number[];
  readonly add: (a: T, b: T) => T;
  readonly sub: (a: T, b: T) => T;
  readonly mul: (a: T, b: T) => T;
  readonly div: (a: T, b: T) => T;
  readonly max: (a: T, b: T) => T;
  readonly min: (a: T, b: T) => T;
  /** One where a > b, else zero. */
  readonly greater: (a: T, b: T) => T;
  /** One where they are the same number, else zero. */
  readonly equal: (a: T, b: T) => T;
  readonly abs: (x: T) => T;
  readonly sqrt: (x: T) => T;
  /** -1, 0 or 1. */
  readonly sign: (x: T) => T;
  /** Over these axes, which stay with size 1; over all of them, to one number, without `axes`. */
  readonly sum: (x: T, axes?: readonly number[]) => T;
  /** The largest of all numbers. */
  readonly largest: (x: T) => T;
  readonly reshape: (x: T, shape: readonly number[]) => T;
  /** Of matrices. */
  readonly matmul: (a: T, b: T) => T;
  readonly transpose: (x: T) => T;
  /** `length` rows or columns from `start`. */
  readonly narrow: (x: T, axis: number, start: number, length: number) => T;
  readonly concat: (parts: readonly T[], axis: number) => T;
  /** Rows or columns by their numbers, in this order. */
  readonly take: (x: T, axis: number, indices: readonly number[]) => T;
  /** 0, 1, 2 … */
  readonly count: (size: number) => T;
  /**
   * One of two computations, by a number that is zero or not; the other costs nothing. Both see the operands only, and give
   * arrays of the same shapes.
   */
  readonly choose: (flag: T, operands: readonly T[], then: Part, otherwise: Part) => readonly T[];
  /** So many turns of a computation that replaces what is carried. It sees the number of the turn, and the fixed operands. */
  readonly loop: (turns: number, carried: readonly T[], fixed: readonly T[], body: LoopBody) => readonly T[];
}

/** A part of a computation that may stand in a graph of its own, so it is written over the algebra that it is handed. */
export type Part = <U>(a: Algebra<U>, operands: readonly U[]) => readonly U[];
export type LoopBody = <U>(a: Algebra<U>, turn: U, carried: readonly U[], fixed: readonly U[]) => readonly U[];

/** An item that is there by construction. */
export function item<T>(items: readonly (T | undefined)[], index: number): T {
  const found = items[index];
  if (found === undefined) throw new RangeError(`no item ${index} of ${items.length}`);
  return found;
}

// ------------------------------------------------------------------------------------ small words over it

export const scale = <T>(a: Algebra<T>, x: T, by: number): T => a.mul(x, a.scalar(by));
export const square = <T>(a: Algebra<T>, x: T): T => a.mul(x, x);
export const norm = <T>(a: Algebra<T>, x: T): T => a.sqrt(a.sum(square(a, x)));
/** old · keep + (1 − keep) · next */
export const average = <T>(a: Algebra<T>, old: T, next: T, keep: number): T =>
  a.add(scale(a, old, keep), scale(a, next, 1 - keep));
/** Root of the mean of squares. */
export const rms = <T>(a: Algebra<T>, x: T): T =>
  a.sqrt(scale(a, a.sum(square(a, x)), 1 / Math.max(1, sizeOfShape(a.shapeOf(x)))));
export const clamp = <T>(a: Algebra<T>, x: T, most: T): T => a.max(a.min(x, most), a.sub(a.scalar(0), most));

export const sizeOfShape = (shape: readonly number[]): number => shape.reduce((n, dim) => n * dim, 1);
