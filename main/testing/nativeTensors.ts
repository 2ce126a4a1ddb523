/** Outputs of native engines as numbers, compared with a reference by the type's precision. */
import { expect } from "vitest";
import type { DType } from "../ir/dtype.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import type { CpuEngine } from "../backends/cpu/engine.ts";

/** Half floats are widened by the engine itself. */
export function numbersOf(dtype: DType, bytes: Uint8Array<ArrayBuffer>, engine: CpuEngine): Float64Array {
  const { buffer } = bytes;
  switch (dtype) {
    case "f16":
    case "bf16": {
      const wide = new Float32Array(bytes.byteLength / 2);
      engine.dequantize(dtype, bytes, wide);
      return Float64Array.from(wide);
    }
    case "bool":
    case "u8":
      return Float64Array.from(bytes);
    case "i8":
      return Float64Array.from(new Int8Array(buffer));
    case "i16":
      return Float64Array.from(new Int16Array(buffer));
    case "i32":
      return Float64Array.from(new Int32Array(buffer));
    case "u32":
      return Float64Array.from(new Uint32Array(buffer));
    case "i64":
      return Float64Array.from(new BigInt64Array(buffer), Number);
    case "f64":
      return new Float64Array(buffer);
    case "f32":
    case "c64":
      return Float64Array.from(new Float32Array(buffer));
  }
}

const STEPS: { readonly [D in DType]?: number } = { f16: 2 ** -10, bf16: 2 ** -7, f32: 1e-5, f64: 1e-12, c64: 1e-5 };

/** Integers exactly, floats within `step` of their size and of the largest. */
export function expectClose(got: HostTensor, want: HostTensor, where = "", coarsest = 0): void {
  expect(got.dtype, where).toBe(want.dtype);
  expect(got.shape, where).toEqual(want.shape);
  const step = STEPS[got.dtype];
  const scale = want.data.reduce((most, x) => (Number.isFinite(x) ? Math.max(most, Math.abs(x)) : most), 1e-30);
  const fits = (x: number, i: number): boolean => {
    const y = got.data[i] ?? NaN;
    if (step === undefined || !Number.isFinite(x)) return Object.is(y, x);
    return Math.abs(y - x) <= Math.max(step, coarsest) * (Math.abs(x) + scale);
  };
  // One expectation for all elements: one each would dominate the test's time.
  const wrong = want.data.findIndex((x, i) => !fits(x, i));
  expect(wrong, `${where} element ${wrong}: got ${got.data[wrong]}, expected ${want.data[wrong]}`).toBe(-1);
}
