/**
 * Host numbers as the bytes of their element type, half floats rounded to nearest even, and back.
 * For constants, inputs and outputs: weights are never converted in TypeScript.
 */
import { bf16ToF32, f16ToF32 } from "../quant/half.ts";
import type { DType } from "./dtype.ts";
import type { HostTensor } from "./hostTensor.ts";

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

function floatToBfloat(value: number): number {
  float[0] = value;
  const word = bits[0] ?? 0;
  if (Number.isNaN(value)) return (word >>> 16) | 0x40;
  return ((word + 0x7fff + ((word >>> 16) & 1)) >>> 16) & 0xffff;
}

function floatToHalf(value: number): number {
  float[0] = value;
  const word = bits[0] ?? 0;
  const sign = (word >>> 16) & 0x8000;
  const magnitude = word & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  // Below 2^-14 a half counts in steps of 2^-24.
  if (magnitude < 0x38800000) return sign | roundEven(Math.abs(float[0] ?? 0) * 2 ** 24);
  const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
  return sign | ((rounded - 0x38000000) >>> 13);
}

function roundEven(x: number): number {
  const low = Math.floor(x);
  const rest = x - low;
  if (rest !== 0.5) return Math.round(x);
  return low % 2 === 0 ? low : low + 1;
}

const LONGEST = 2n ** 63n - 1n;
/** Float64 has 2^63 for the largest i64, which would wrap. */
const toLong = (x: number): bigint => (x >= 2 ** 63 ? LONGEST : BigInt(Math.trunc(x)));

const WRITERS: { readonly [D in DType]: (data: Float64Array) => ArrayBufferView } = {
  bool: (data) => Uint8Array.from(data, (x) => (x !== 0 ? 1 : 0)),
  u8: (data) => Uint8Array.from(data),
  i8: (data) => Int8Array.from(data),
  i16: (data) => Int16Array.from(data),
  bf16: (data) => Uint16Array.from(data, floatToBfloat),
  f16: (data) => Uint16Array.from(data, floatToHalf),
  u32: (data) => Uint32Array.from(data),
  i32: (data) => Int32Array.from(data),
  i64: (data) => BigInt64Array.from(Array.from(data, toLong)),
  f32: (data) => Float32Array.from(data),
  f64: (data) => data,
  c64: (data) => Float32Array.from(data),
};

/** Host numbers as a typed array of their element type, in memory of its own. */
export function typedArrayOf(tensor: HostTensor): ArrayBufferView {
  const array = WRITERS[tensor.dtype](tensor.data);
  return array === tensor.data ? tensor.data.slice() : array;
}

/** Host numbers in the bytes of their element type. */
export function tensorBytes(tensor: HostTensor): Uint8Array {
  const view = WRITERS[tensor.dtype](tensor.data);
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

/** Numbers in a typed array: halves as the f32 that they are, i64 as f64 (exact to 2^53), complex ones as pairs. */
export type NumberArray = Uint8Array | Int8Array | Int16Array | Uint32Array | Int32Array | Float32Array | Float64Array;

type Reader = (buffer: ArrayBufferLike, offset: number, bytes: number) => NumberArray;
const READERS: { readonly [D in DType]: Reader } = {
  bool: (...at) => new Uint8Array(...at),
  u8: (...at) => new Uint8Array(...at),
  i8: (...at) => new Int8Array(...at),
  i16: (buffer, offset, bytes) => new Int16Array(buffer, offset, bytes / 2),
  bf16: (buffer, offset, bytes) => Float32Array.from(new Uint16Array(buffer, offset, bytes / 2), bf16ToF32),
  f16: (buffer, offset, bytes) => Float32Array.from(new Uint16Array(buffer, offset, bytes / 2), f16ToF32),
  u32: (buffer, offset, bytes) => new Uint32Array(buffer, offset, bytes / 4),
  i32: (buffer, offset, bytes) => new Int32Array(buffer, offset, bytes / 4),
  i64: (buffer, offset, bytes) => Float64Array.from(new BigInt64Array(buffer, offset, bytes / 8), Number),
  f32: (buffer, offset, bytes) => new Float32Array(buffer, offset, bytes / 4),
  f64: (buffer, offset, bytes) => new Float64Array(buffer, offset, bytes / 8),
  c64: (buffer, offset, bytes) => new Float32Array(buffer, offset, bytes / 4),
};

/** The numbers in the bytes of an element type; over the same memory where it has an array of that type. */
export function numbersIn(dtype: DType, view: ArrayBufferView): NumberArray {
  const aligned = view.byteOffset % 8 === 0;
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return READERS[dtype](aligned ? view.buffer : bytes.slice().buffer, aligned ? view.byteOffset : 0, view.byteLength);
}
