/** Errors and strided walks of the simulator. Kernels compute in double precision and round once per operator, as Core ML does. */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import { elementCount } from "../mil/types.ts";
import type { PackageTensor } from "../package/packageTensor.ts";
import { allocate } from "../package/packageTensor.ts";

export function simError(source: string, what: string): never {
  throw new WorkbenchError("RUN_FAILED", `[coreml-sim] ${source}: ${what}`);
}

export function strides(shape: readonly number[]): number[] {
  const out = new Array<number>(shape.length).fill(1);
  for (let i = shape.length - 2; i >= 0; i--) out[i] = (out[i + 1] ?? 1) * (shape[i + 1] ?? 1);
  return out;
}

/** Strides of a tensor seen from a broadcast result of higher or equal rank: 0 where it is stretched. */
export function broadcastStrides(shape: readonly number[], result: readonly number[]): number[] {
  const own = strides(shape);
  const skip = result.length - shape.length;
  return result.map((_, i) => (i < skip || shape[i - skip] === 1 ? 0 : (own[i - skip] ?? 0)));
}

export function broadcastShape(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const x = a[i - rank + a.length] ?? 1;
    const y = b[i - rank + b.length] ?? 1;
    if (x !== y && x !== 1 && y !== 1) simError("broadcast", `[${a.join()}] with [${b.join()}]`);
    return x === 1 ? y : x;
  });
}

/** Element offsets of a strided walk over `shape`, in row-major order of `shape`. */
export function offsets(shape: readonly number[], step: readonly number[], start = 0): Int32Array {
  const out = new Int32Array(elementCount(shape));
  if (out.length === 0) return out;
  out[0] = start;
  let filled = 1;
  // Grow the table axis by axis, from the innermost one.
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const [size, by] = [shape[axis] ?? 1, step[axis] ?? 0];
    for (let i = 1; i < size; i++) for (let j = 0; j < filled; j++) out[i * filled + j] = (out[j] as number) + i * by;
    filled *= size;
  }
  return out;
}

/** The same elements picked by offset. */
export function pick(x: PackageTensor, shape: readonly number[], at: Int32Array): PackageTensor {
  const data = allocate(x.dtype, at.length);
  for (let i = 0; i < at.length; i++) data[i] = x.data[at[i] as number] as number;
  return { dtype: x.dtype, shape, data };
}
