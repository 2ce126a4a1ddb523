/**
 * The values a GGUF header holds. Nothing is decoded before it is asked for: a vocabulary of 150
 * 000 strings stays one region of bytes with an index of where each string begins. Each entry keeps
 * its raw bytes, so that a file can be written again exactly as it was.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";

/** The file's own numbering: the position in this list is the type's number. */
export const VALUE_TYPES = [
  "u8",
  "i8",
  "u16",
  "i16",
  "u32",
  "i32",
  "f32",
  "bool",
  "string",
  "array",
  "u64",
  "i64",
  "f64",
] as const;
export type ValueType = (typeof VALUE_TYPES)[number];
export type NumberType = "u8" | "i8" | "u16" | "i16" | "u32" | "i32" | "f32" | "f64";
export type BigType = "u64" | "i64";
export type FixedType = NumberType | BigType | "bool";

export const valueTypeId = (type: ValueType): number => VALUE_TYPES.indexOf(type);

const FIXED_BYTES: { readonly [T in FixedType]: number } = {
  u8: 1,
  i8: 1,
  u16: 2,
  i16: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  f64: 8,
  u64: 8,
  i64: 8,
  bool: 1,
};
export const fixedBytes = (type: FixedType): number => FIXED_BYTES[type];

export type MetadataValue =
  | { readonly kind: "number"; readonly type: NumberType; readonly value: number }
  | { readonly kind: "big"; readonly type: BigType; readonly value: bigint }
  | { readonly kind: "bool"; readonly value: boolean }
  | { readonly kind: "string"; readonly bytes: Uint8Array }
  | { readonly kind: "fixedArray"; readonly type: FixedType; readonly array: FixedArray }
  | { readonly kind: "strings"; readonly strings: StringTable }
  | { readonly kind: "arrays"; readonly items: readonly MetadataValue[] };

/** One key of a header. `raw` is the value as it lies in the file, without its type number. */
export interface MetadataEntry {
  readonly key: string;
  readonly type: ValueType;
  readonly raw: Uint8Array;
  readonly value: MetadataValue;
}

// Bad bytes are replaced: one in a description must not hide the rest of the file.
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
export const decodeText = (bytes: Uint8Array): string => lenient.decode(bytes);

/** Strings one behind the other, each behind its 64-bit length. `starts[i]` is where the bytes of string i begin. */
export class StringTable {
  readonly region: Uint8Array;
  readonly starts: Uint32Array;
  readonly length: number;

  constructor(region: Uint8Array, starts: Uint32Array) {
    this.region = region;
    this.starts = starts;
    this.length = starts.length - 1;
  }

  startOf(index: number): number {
    return this.starts[index] ?? 0;
  }

  /** The next string's length field follows directly. */
  endOf(index: number): number {
    return (this.starts[index + 1] ?? 8) - 8;
  }

  bytesAt(index: number): Uint8Array {
    if (index < 0 || index >= this.length) throw outOfRange("string table", index, this.length);
    return this.region.subarray(this.startOf(index), this.endOf(index));
  }

  textAt(index: number): string {
    return decodeText(this.bytesAt(index));
  }
}

/** Numbers of one fixed size, read from the file's bytes when they are asked for. */
export class FixedArray {
  readonly type: FixedType;
  readonly bytes: Uint8Array;
  readonly length: number;
  readonly #view: DataView;

  constructor(type: FixedType, bytes: Uint8Array) {
    this.type = type;
    this.bytes = bytes;
    this.length = bytes.byteLength / FIXED_BYTES[type];
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  valueAt(index: number): number | bigint | boolean {
    if (index < 0 || index >= this.length) throw outOfRange("array", index, this.length);
    return readFixed(this.#view, index * FIXED_BYTES[this.type], this.type);
  }

  numberAt(index: number): number {
    return Number(this.valueAt(index));
  }

  /** A copy as f32; the bytes of f32 arrays are moved as they are. */
  toFloat32(): Float32Array {
    const out = new Float32Array(this.length);
    if (this.type === "f32") new Uint8Array(out.buffer).set(this.bytes);
    else for (let i = 0; i < out.length; i++) out[i] = this.numberAt(i);
    return out;
  }

  toInt32(): Int32Array {
    const out = new Int32Array(this.length);
    if (this.type === "i32" || this.type === "u32") new Uint8Array(out.buffer).set(this.bytes);
    else for (let i = 0; i < out.length; i++) out[i] = this.numberAt(i);
    return out;
  }
}

export function readFixed(view: DataView, at: number, type: FixedType): number | bigint | boolean {
  switch (type) {
    case "u8":
      return view.getUint8(at);
    case "i8":
      return view.getInt8(at);
    case "u16":
      return view.getUint16(at, true);
    case "i16":
      return view.getInt16(at, true);
    case "u32":
      return view.getUint32(at, true);
    case "i32":
      return view.getInt32(at, true);
    case "f32":
      return view.getFloat32(at, true);
    case "f64":
      return view.getFloat64(at, true);
    case "u64":
      return view.getBigUint64(at, true);
    case "i64":
      return view.getBigInt64(at, true);
    case "bool":
      return view.getUint8(at) !== 0;
  }
}

const outOfRange = (what: string, index: number, length: number): WorkbenchError =>
  new WorkbenchError("BUG_INVARIANT", `[gguf] ${what} index: got ${index}, expected 0 to ${length - 1}`);
