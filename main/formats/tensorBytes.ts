/**
 * A tensor's bytes that need not lie anywhere: another tensor's with rows in another order, with
 * another element type, joined from several. Any range can be read; only `transposed` reads a whole
 * tensor for it.
 */
import { WorkbenchError, invariant } from "../diagnostics/errors.ts";
import { f32ToF16 } from "../quant/half.ts";
import type { GgmlType } from "./gguf/types.ts";
import { ggmlTypeByName, packedBytes } from "./gguf/types.ts";
import { dequantize } from "./quant/dequantize.ts";

export interface TensorBytes {
  readonly type: GgmlType;
  /** The fastest dimension first. */
  readonly dims: readonly number[];
  readonly byteLength: number;
  readonly read: (offset: number, length: number, signal?: AbortSignal) => Promise<Uint8Array>;
}

export const elementsOf = (dims: readonly number[]): number => dims.reduce((product, dim) => product * dim, 1);

export function typeNamed(name: string): GgmlType {
  const type = ggmlTypeByName(name);
  invariant(type !== undefined, `${name} is a type`);
  return type;
}

export const F32 = typeNamed("f32");

const EXACT =
  /(_norm|ffn_gate_inp|ffn_gate_inp_shexp|position_embd|token_types|rope_freqs|rope_factors_(long|short)|ssm_conv1d|shortconv\.conv)\.weight$/u;
/** Tensors that ggml's operations take as f32 only. */
export const isExactly32 = (name: string): boolean => EXACT.test(name);

/** Numbers that are in memory, as f32. */
export function floatsBytes(values: Float32Array, dims: readonly number[] = [values.length]): TensorBytes {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return {
    type: F32,
    dims,
    byteLength: bytes.byteLength,
    read: async (offset, length) => bytes.slice(offset, offset + length),
  };
}

/** The same bytes as a tensor of other sizes. */
export const withDims = (tensor: TensorBytes, dims: readonly number[]): TensorBytes => ({ ...tensor, dims });

/** Without the sizes of 1 behind the first. */
export const withoutOnes = (tensor: TensorBytes): TensorBytes =>
  withDims(
    tensor,
    tensor.dims.filter((dim, i) => i === 0 || dim !== 1),
  );

const rowBytesOf = ({ type, dims }: TensorBytes): number => packedBytes(type, dims[0] ?? 1);

/** Rows in another order, or a choice of them: row i is row `from(i)` of the tensor. `dims` when their number changes. */
export function rowsFrom(tensor: TensorBytes, from: (row: number) => number, dims = tensor.dims): TensorBytes {
  const size = rowBytesOf(tensor);
  const rows = elementsOf(dims.slice(1));
  return {
    ...tensor,
    dims,
    byteLength: rows * size,
    async read(offset, length, signal) {
      const out = new Uint8Array(length);
      const end = offset + length;
      for (let row = Math.floor(offset / size); row * size < end;) {
        // Rows that also follow one another in the tensor are one read.
        const first = from(row);
        let count = 1;
        while ((row + count) * size < end && from(row + count) === first + count) count++;
        const begin = Math.max(offset, row * size);
        const stop = Math.min(end, (row + count) * size);
        out.set(await tensor.read(first * size + begin - row * size, stop - begin, signal), begin - offset);
        row += count;
      }
      return out;
    },
  };
}

/** Tensors of one type, one behind the other. */
export function joined(parts: readonly TensorBytes[], dims: readonly number[]): TensorBytes {
  const [first] = parts;
  invariant(first !== undefined, "something to join");
  const starts: number[] = [];
  let total = 0;
  for (const part of parts) {
    invariant(part.type === first.type, `${part.type.name} beside ${first.type.name}`);
    starts.push(total);
    total += part.byteLength;
  }
  return {
    type: first.type,
    dims,
    byteLength: total,
    async read(offset, length, signal) {
      const out = new Uint8Array(length);
      for (const [i, part] of parts.entries()) {
        const start = starts[i] ?? 0;
        const from = Math.max(offset, start);
        const to = Math.min(offset + length, start + part.byteLength);
        if (to > from) out.set(await part.read(from - start, to - from, signal), from - offset);
      }
      return out;
    },
  };
}

/**
 * Rows and columns of each matrix change places. A matrix is read whole for a part of it; the last one stays as long as there is
 * memory for it, because the next part is most often its neighbour.
 */
export function transposed(tensor: TensorBytes): TensorBytes {
  const [columns = 1, rows = 1, ...rest] = tensor.dims;
  const size = tensor.type.blockBytes;
  if (tensor.dims.length < 2 || tensor.type.blockSize !== 1)
    throw new WorkbenchError(
      "INPUT_MALFORMED",
      `[weights] got a tensor of ${tensor.dims.join(" × ")} ${tensor.type.name}, expected matrices of plain numbers`,
      { hint: "config.json and the weights belong to different models." },
    );
  const matrixBytes = columns * rows * size;
  let last: { readonly index: number; readonly bytes: WeakRef<Uint8Array> } | undefined;
  const matrix = async (index: number, signal?: AbortSignal): Promise<Uint8Array> => {
    const known = last?.index === index ? last.bytes.deref() : undefined;
    if (known !== undefined) return known;
    const bytes = turned(await tensor.read(index * matrixBytes, matrixBytes, signal), { columns, rows, size });
    last = { index, bytes: new WeakRef(bytes) };
    return bytes;
  };
  return {
    ...tensor,
    dims: [rows, columns, ...rest],
    async read(offset, length, signal) {
      const out = new Uint8Array(length);
      for (let at = 0; at < length;) {
        const index = Math.floor((offset + at) / matrixBytes);
        const begin = offset + at - index * matrixBytes;
        const part = (await matrix(index, signal)).subarray(begin, begin + length - at);
        out.set(part, at);
        at += part.length;
      }
      return out;
    },
  };
}

interface MatrixShape {
  readonly columns: number;
  readonly rows: number;
  /** Bytes of a number. */
  readonly size: number;
}

/** A whole matrix. Numbers of two bytes and more move in pieces of two. */
function turned(bytes: Uint8Array, { columns, rows, size }: MatrixShape): Uint8Array {
  const pieces = Math.max(1, size / 2);
  const from = size === 1 ? bytes : new Uint16Array(bytes.slice().buffer);
  const to = size === 1 ? new Uint8Array(from.length) : new Uint16Array(from.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      for (let piece = 0; piece < pieces; piece++)
        to[(column * rows + row) * pieces + piece] = from[(row * columns + column) * pieces + piece] ?? 0;
  return new Uint8Array(to.buffer);
}

/** Each number through a function, as f32. */
export const mapped = (tensor: TensorBytes, change: (value: number) => number): TensorBytes =>
  converted(tensor, F32, change);

/** As f32, with something added to each row: `add` is given the number of a row, and its values to change. */
export function rowsAdded(tensor: TensorBytes, add: (row: number, values: Float32Array) => void): TensorBytes {
  const plain = converted(tensor, F32);
  const rowBytes = 4 * (tensor.dims[0] ?? 1);
  return {
    ...plain,
    async read(offset, length, signal) {
      const first = Math.floor(offset / rowBytes);
      const count = Math.ceil((offset + length) / rowBytes) - first;
      const bytes = (await plain.read(first * rowBytes, count * rowBytes, signal)).slice();
      for (let i = 0; i < count; i++) add(first + i, new Float32Array(bytes.buffer, i * rowBytes, rowBytes / 4));
      return bytes.subarray(offset - first * rowBytes, offset - first * rowBytes + length);
    },
  };
}

/** Element types that tensors can be converted to. */
export const TARGETS = ["f32", "f16", "bf16", "q8_0"] as const;
export type TargetType = (typeof TARGETS)[number];
/** undefined: it is none of them. */
export const targetNamed = (name: string): TargetType | undefined => TARGETS.find((target) => target === name);

/** The tensor in another element type; itself when it has that already. */
export function converted(tensor: TensorBytes, target: GgmlType, change?: (value: number) => number): TensorBytes {
  const { type, dims } = tensor;
  if (type === target && change === undefined) return tensor;
  const { element } = type;
  if (element === undefined)
    throw new WorkbenchError("UNSUPPORTED_TENSOR_TYPE", `[convert] got a tensor of type ${type.name}`, {
      hint: "Tensors of this type can be looked at, but not converted.",
    });
  const pack = PACKERS[target.name];
  invariant(pack !== undefined, `a way to write ${target.name}`);
  // Ranges begin and end at whole blocks of both types.
  const unit = Math.max(type.blockSize, target.blockSize);
  const unitBytes = packedBytes(target, unit);
  return {
    type: target,
    dims,
    byteLength: packedBytes(target, elementsOf(dims)),
    async read(offset, length, signal) {
      const first = Math.floor(offset / unitBytes);
      const count = Math.ceil((offset + length) / unitBytes) - first;
      const bytes = await tensor.read(packedBytes(type, first * unit), packedBytes(type, count * unit), signal);
      const values = dequantize(element, bytes, count * unit);
      if (change !== undefined) for (let i = 0; i < values.length; i++) values[i] = change(values[i] ?? 0);
      return pack(values).subarray(offset - first * unitBytes, offset - first * unitBytes + length);
    },
  };
}

type Pack = (values: Float32Array) => Uint8Array;

const PACKERS: Readonly<Record<string, Pack>> = {
  f32: (values) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
  f16: (values) => new Uint8Array(Uint16Array.from(values, f32ToF16).buffer),
  bf16: packBf16,
  q8_0: packQ8,
};

/** Rounded to the nearest, ties to even; a NaN stays one. */
function packBf16(values: Float32Array): Uint8Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const out = new Uint16Array(values.length);
  for (let i = 0; i < out.length; i++) {
    const word = bits[i] ?? 0;
    out[i] = (word & 0x7fffffff) > 0x7f800000 ? (word >>> 16) | 64 : (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  }
  return new Uint8Array(out.buffer);
}

/** Blocks of 32: an f16 scale, largest / 127, and a byte for each number. */
function packQ8(values: Float32Array): Uint8Array {
  const blocks = values.length / 32;
  const out = new Uint8Array(blocks * 34);
  const view = new DataView(out.buffer);
  for (let block = 0; block < blocks; block++) {
    let largest = 0;
    for (let i = 0; i < 32; i++) largest = Math.max(largest, Math.abs(values[block * 32 + i] ?? 0));
    const scale = Math.fround(largest / 127);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    view.setUint16(block * 34, f32ToF16(scale), true);
    for (let i = 0; i < 32; i++)
      view.setInt8(block * 34 + 2 + i, roundAway(Math.fround((values[block * 32 + i] ?? 0) * inverse)));
  }
  return out;
}

/** Halves go away from 0, as C rounds. */
const roundAway = (value: number): number => Math.sign(value) * Math.floor(Math.abs(value) + 0.5);
