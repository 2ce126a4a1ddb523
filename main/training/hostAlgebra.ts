/** The algebra over float64 arrays: slow, plain, and what every optimiser means. */
import { invariant } from "../diagnostics/errors.ts";
import type { Algebra } from "./algebra.ts";
import { item, sizeOfShape } from "./algebra.ts";

export interface HostArray {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

export const hostArray = (shape: readonly number[], data: ArrayLike<number>): HostArray => {
  invariant(data.length === sizeOfShape(shape), `[training] ${data.length} numbers do not fill [${shape.join(",")}]`);
  return { shape, data: data instanceof Float64Array ? data : Float64Array.from(data) };
};

export const filledArray = (shape: readonly number[], value: number): HostArray => ({
  shape,
  data: new Float64Array(sizeOfShape(shape)).fill(value),
});

function broadcast(a: readonly number[], b: readonly number[]): readonly number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const [x, y] = [a[a.length - rank + i] ?? 1, b[b.length - rank + i] ?? 1];
    invariant(x === y || x === 1 || y === 1, `[training] [${a.join(",")}] and [${b.join(",")}] do not broadcast`);
    return x === 1 ? y : x;
  });
}

/** For each element of `shape`, the place of what an array of shape `own` has there. */
function placesIn(own: readonly number[], shape: readonly number[]): Int32Array {
  let places = new Int32Array(1);
  let stride = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const at = axis - shape.length + own.length;
    const size = item(shape, axis);
    const step = (own[at] ?? 1) === 1 ? 0 : stride;
    stride *= own[at] ?? 1;
    const next = new Int32Array(places.length * size);
    for (let i = 0; i < size; i++)
      for (let j = 0; j < places.length; j++) next[i * places.length + j] = (places[j] ?? 0) + i * step;
    places = next;
  }
  return places;
}

const sameShape = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((dim, i) => dim === b[i]);

/** A loop over two arrays; a stride of 0 stays on the first number. One function each: a shared one would call back for every number. */
type Loop = (x: Float64Array, xStride: number, y: Float64Array, yStride: number, to: Float64Array) => void;

const LOOPS = {
  add: (x, xs, y, ys, to) => {
    for (let i = 0; i < to.length; i++) to[i] = (x[i * xs] ?? NaN) + (y[i * ys] ?? NaN);
  },
  sub: (x, xs, y, ys, to) => {
    for (let i = 0; i < to.length; i++) to[i] = (x[i * xs] ?? NaN) - (y[i * ys] ?? NaN);
  },
  mul: (x, xs, y, ys, to) => {
    for (let i = 0; i < to.length; i++) to[i] = (x[i * xs] ?? NaN) * (y[i * ys] ?? NaN);
  },
  div: (x, xs, y, ys, to) => {
    for (let i = 0; i < to.length; i++) to[i] = (x[i * xs] ?? NaN) / (y[i * ys] ?? NaN);
  },
  max: (x, xs, y, ys, to) => {
    for (let i = 0; i < to.length; i++) to[i] = Math.max(x[i * xs] ?? NaN, y[i * ys] ?? NaN);
  },
  min: (x, xs, y, ys, to) => {
    for (let i = 0; i < to.length; i++) to[i] = Math.min(x[i * xs] ?? NaN, y[i * ys] ?? NaN);
  },
  greater: (x, xs, y, ys, to) => {
    for (let i = 0; i < to.length; i++) to[i] = (x[i * xs] ?? NaN) > (y[i * ys] ?? NaN) ? 1 : 0;
  },
  equal: (x, xs, y, ys, to) => {
    for (let i = 0; i < to.length; i++) to[i] = (x[i * xs] ?? NaN) === (y[i * ys] ?? NaN) ? 1 : 0;
  },
} as const satisfies Readonly<Record<string, Loop>>;

const spread = ({ shape: own, data }: HostArray, shape: readonly number[]): Float64Array =>
  Float64Array.from(placesIn(own, shape), (place) => data[place] ?? NaN);

function zip(a: HostArray, b: HostArray, loop: Loop): HostArray {
  const isSame = sameShape(a.shape, b.shape);
  const [aIsOne, bIsOne] = [a.shape.length === 0, b.shape.length === 0];
  const shape = isSame || bIsOne ? a.shape : aIsOne ? b.shape : broadcast(a.shape, b.shape);
  const isPlain = isSame || aIsOne || bIsOne;
  const [x, y] = isPlain ? [a.data, b.data] : [spread(a, shape), spread(b, shape)];
  const data = new Float64Array(sizeOfShape(shape));
  loop(x, isPlain && aIsOne ? 0 : 1, y, isPlain && bIsOne ? 0 : 1, data);
  return { shape, data };
}

function roots({ shape, data }: HostArray): HostArray {
  const made = new Float64Array(data.length);
  for (let i = 0; i < made.length; i++) made[i] = Math.sqrt(data[i] ?? NaN);
  return { shape, data: made };
}

const each = (x: HostArray, rule: (value: number) => number): HostArray => ({ shape: x.shape, data: x.data.map(rule) });

function sum(x: HostArray, axes?: readonly number[]): HostArray {
  if (axes === undefined)
    return { shape: [], data: Float64Array.of(x.data.reduce((total, value) => total + value, 0)) };
  const shape = x.shape.map((dim, axis) => (axes.includes(axis) ? 1 : dim));
  const data = new Float64Array(sizeOfShape(shape));
  placesIn(shape, x.shape).forEach((place, i) => (data[place] = (data[place] ?? 0) + (x.data[i] ?? NaN)));
  return { shape, data };
}

function matmul(a: HostArray, b: HostArray): HostArray {
  const [rows, inner] = [item(a.shape, 0), item(a.shape, 1)];
  const columns = item(b.shape, 1);
  invariant(item(b.shape, 0) === inner, `[training] [${a.shape.join(",")}] times [${b.shape.join(",")}]`);
  const data = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++)
    for (let k = 0; k < inner; k++) {
      const value = a.data[i * inner + k] ?? NaN;
      for (let j = 0; j < columns; j++)
        data[i * columns + j] = (data[i * columns + j] ?? 0) + value * (b.data[k * columns + j] ?? NaN);
    }
  return { shape: [rows, columns], data };
}

function transpose(x: HostArray): HostArray {
  const [rows, columns] = [item(x.shape, 0), item(x.shape, 1)];
  const data = new Float64Array(x.data.length);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) data[j * rows + i] = x.data[i * columns + j] ?? NaN;
  return { shape: [columns, rows], data };
}

/** Slices along one axis, by their numbers. */
function take(x: HostArray, axis: number, indices: readonly number[]): HostArray {
  const outer = sizeOfShape(x.shape.slice(0, axis));
  const inner = sizeOfShape(x.shape.slice(axis + 1));
  const size = item(x.shape, axis);
  const data = new Float64Array(outer * indices.length * inner);
  for (let i = 0; i < outer; i++)
    indices.forEach((from, to) => {
      const start = (i * size + from) * inner;
      data.set(x.data.subarray(start, start + inner), (i * indices.length + to) * inner);
    });
  return { shape: x.shape.map((dim, i) => (i === axis ? indices.length : dim)), data };
}

function concat(parts: readonly HostArray[], axis: number): HostArray {
  const first = item(parts, 0);
  const size = parts.reduce((n, { shape }) => n + item(shape, axis), 0);
  const outer = sizeOfShape(first.shape.slice(0, axis));
  const inner = sizeOfShape(first.shape.slice(axis + 1));
  const data = new Float64Array(outer * size * inner);
  let at = 0;
  for (let i = 0; i < outer; i++)
    for (const part of parts) {
      const length = item(part.shape, axis) * inner;
      data.set(part.data.subarray(i * length, (i + 1) * length), at);
      at += length;
    }
  return { shape: first.shape.map((dim, i) => (i === axis ? size : dim)), data };
}

const range = (start: number, length: number): readonly number[] => Array.from({ length }, (_, i) => start + i);

export const hostAlgebra: Algebra<HostArray> = {
  scalar: (value) => ({ shape: [], data: Float64Array.of(value) }),
  identity: (size) => {
    const made = filledArray([size, size], 0);
    for (let i = 0; i < size; i++) made.data[i * size + i] = 1;
    return made;
  },
  shapeOf: ({ shape }) => shape,
  add: (a, b) => zip(a, b, LOOPS.add),
  sub: (a, b) => zip(a, b, LOOPS.sub),
  mul: (a, b) => zip(a, b, LOOPS.mul),
  div: (a, b) => zip(a, b, LOOPS.div),
  max: (a, b) => zip(a, b, LOOPS.max),
  min: (a, b) => zip(a, b, LOOPS.min),
  greater: (a, b) => zip(a, b, LOOPS.greater),
  equal: (a, b) => zip(a, b, LOOPS.equal),
  abs: (x) => each(x, Math.abs),
  sqrt: roots,
  sign: (x) => each(x, Math.sign),
  sum,
  largest: (x) => hostAlgebra.scalar(x.data.reduce((most, value) => Math.max(most, value), -Infinity)),
  reshape: (x, shape) => hostArray(shape, x.data),
  matmul,
  transpose,
  narrow: (x, axis, start, length) => take(x, axis, range(start, length)),
  concat,
  take,
  count: (size) => ({ shape: [size], data: Float64Array.from(range(0, size)) }),
  choose: (flag, operands, then, otherwise) => (flag.data[0] === 0 ? otherwise : then)(hostAlgebra, operands),
  loop: (turns, carried, fixed, body) => {
    let now = carried;
    for (let turn = 0; turn < turns; turn++) now = body(hostAlgebra, hostAlgebra.scalar(turn), now, fixed);
    return now;
  },
};
