/**
 * Tensors on the JavaScript side: constants of a graph and values of the reference evaluator. All
 * numbers are held as float64 (exact for every dtype but wide i64); complex values are interleaved
 * re, im.
 */
import { invariant } from "../diagnostics/errors.ts";
import type { DType } from "./dtype.ts";

export interface HostTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

export const sizeOf = (shape: readonly number[]): number => shape.reduce((n, dim) => n * dim, 1);

export function hostTensor(dtype: DType, shape: readonly number[], data: ArrayLike<number>): HostTensor {
  const wanted = sizeOf(shape) * (dtype === "c64" ? 2 : 1);
  invariant(
    data.length === wanted,
    `host tensor ${dtype}[${shape.join(",")}] has ${data.length} numbers, expected ${wanted}`,
  );
  return { dtype, shape, data: data instanceof Float64Array ? data : Float64Array.from(data) };
}

export const hostScalar = (dtype: DType, value: number): HostTensor =>
  hostTensor(dtype, [], dtype === "c64" ? [value, 0] : [value]);

/** Row-major strides in elements. */
export function stridesOf(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length).fill(1);
  for (let i = shape.length - 2; i >= 0; i--) strides[i] = (strides[i + 1] ?? 1) * (shape[i + 1] ?? 1);
  return strides;
}
