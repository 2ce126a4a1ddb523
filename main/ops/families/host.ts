/**
 * Loops that references share: strided copies, broadcasting, walks along one axis. Simple, but fast
 * enough for a fallback.
 */
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, sizeOf, stridesOf } from "../../ir/hostTensor.ts";
import type { Shape } from "../../ir/dim.ts";
import { dimSymbols } from "../../ir/dim.ts";
import type { TensorType } from "../../ir/type.ts";

/** An element that is there by construction. */
export const at = (data: ArrayLike<number>, index: number): number => data[index] ?? NaN;

/** Row-major copy of a strided view: `shape` of the result, `strides` into `data`. */
export function stridedCopy(
  data: Float64Array,
  shape: readonly number[],
  strides: readonly number[],
  offset = 0,
): Float64Array {
  const out = new Float64Array(sizeOf(shape));
  const rank = shape.length;
  if (out.length === 0) return out;
  if (rank === 0) {
    out[0] = at(data, offset);
    return out;
  }
  const inner = at(shape, rank - 1);
  const step = at(strides, rank - 1);
  const index = new Array<number>(rank).fill(0);
  let from = offset;
  for (let to = 0; to < out.length; to += inner) {
    if (step === 1) out.set(data.subarray(from, from + inner), to);
    else for (let i = 0; i < inner; i++) out[to + i] = at(data, from + i * step);
    for (let d = rank - 2; d >= 0; d--) {
      index[d] = at(index, d) + 1;
      from += at(strides, d);
      if (at(index, d) < at(shape, d)) break;
      from -= at(strides, d) * at(shape, d);
      index[d] = 0;
    }
  }
  return out;
}

/** Strides of `shape` seen from a broadcast result of `rank`: 0 where it is stretched. */
export function broadcastStrides(shape: readonly number[], rank: number): number[] {
  const own = stridesOf(shape);
  return Array.from({ length: rank }, (_, i) => {
    const j = i - (rank - shape.length);
    return j < 0 || shape[j] === 1 ? 0 : at(own, j);
  });
}

/** The data of `x` stretched to `shape`; the same array when nothing is stretched. */
export function broadcastData(x: HostTensor, shape: readonly number[]): Float64Array {
  if (x.data.length === sizeOf(shape) && x.dtype !== "c64") return x.data;
  return stridedCopy(x.data, shape, broadcastStrides(x.shape, shape.length));
}

export interface AxisWalk {
  /** Product of the sizes before the axis. */
  readonly outer: number;
  readonly size: number;
  /** Product of the sizes after it: the stride of the axis. */
  readonly inner: number;
}

export function axisWalk(shape: readonly number[], axis: number): AxisWalk {
  return { outer: sizeOf(shape.slice(0, axis)), size: at(shape, axis), inner: sizeOf(shape.slice(axis + 1)) };
}

/** Calls `line(start, stride)` for every line along `axis`. */
export function forEachLine(
  shape: readonly number[],
  axis: number,
  line: (start: number, stride: number) => void,
): void {
  const { outer, size, inner } = axisWalk(shape, axis);
  for (let o = 0; o < outer; o++) for (let i = 0; i < inner; i++) line(o * size * inner + i, inner);
}

/** The result of `f` on every element. */
export function mapTensor(x: HostTensor, f: (value: number) => number, dtype = x.dtype): HostTensor {
  return hostTensor(dtype, x.shape, x.data.map(f));
}

/** Sizes of a result that the evaluator has bound; one that nothing tells is a fault of what the run was given. */
export function boundShape(type: TensorType | undefined, op: string): readonly number[] {
  invariant(type, `[${op}] the reference was given no output type`);
  return type.shape.map((dim) => {
    if (typeof dim === "number") return dim;
    const symbols = dimSymbols(dim).join(", ");
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[${op}] size of the result: got [${type.shape.join(",")}], expected a number for ${symbols}`,
      { hint: `No input tells ${symbols}: give it among the symbols.` },
    );
  });
}

/** Sizes without symbols, for references that compute their own result shape. */
export const numbersOf = (shape: Shape, op: string): readonly number[] => boundShape({ dtype: "f32", shape }, op);

export function indexWithin(index: number, size: number, op: string): number {
  if (!Number.isInteger(index) || index < 0 || index >= size)
    throw new WorkbenchError("RUN_FAILED", `[${op}] index out of range: got ${index}, expected 0..${size - 1}`);
  return index;
}

/** Rounds half to even, as every backend does. */
export function roundHalfEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  if (rest < 0.5) return floor;
  if (rest > 0.5) return floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}
