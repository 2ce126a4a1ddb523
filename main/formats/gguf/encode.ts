/** Metadata entries made from values: what the writer writes and what tests and tools put into a header. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { HEADER_LIMITS, HeaderCursor } from "./cursor.ts";
import { fixedBytes, valueTypeId } from "./values.ts";
import type { BigType, FixedType, MetadataEntry, NumberType, ValueType } from "./values.ts";

const encoder = new TextEncoder();

export const numberEntry = (key: string, type: NumberType, value: number): MetadataEntry =>
  entry(key, type, fixedRaw(type, [value]));
export const bigEntry = (key: string, type: BigType, value: bigint): MetadataEntry =>
  entry(key, type, fixedRaw(type, [value]));
export const boolEntry = (key: string, value: boolean): MetadataEntry =>
  entry(key, "bool", Uint8Array.of(value ? 1 : 0));
export const stringEntry = (key: string, value: string): MetadataEntry =>
  entry(key, "string", stringRaw(encoder.encode(value)));

export function numbersEntry(key: string, type: FixedType, values: ArrayLike<number | bigint>): MetadataEntry {
  return entry(key, "array", concat([arrayHead(type, values.length), fixedRaw(type, values)]));
}

/** Strings as text, or as bytes where they need not be valid UTF-8. */
export function stringsEntry(key: string, values: readonly (string | Uint8Array)[]): MetadataEntry {
  const parts = values.map((value) => (typeof value === "string" ? encoder.encode(value) : value));
  const raw = new Uint8Array(12 + parts.reduce((sum, part) => sum + 8 + part.byteLength, 0));
  raw.set(arrayHead("string", parts.length));
  const view = new DataView(raw.buffer);
  let at = 12;
  for (const part of parts) {
    view.setUint32(at, part.byteLength, true);
    raw.set(part, at + 8);
    at += 8 + part.byteLength;
  }
  return entry(key, "array", raw);
}

/** The same key with another name, or the entries with some of them replaced, added or (undefined) left out. */
export function withEntries(
  entries: readonly MetadataEntry[],
  changes: Readonly<Record<string, MetadataEntry | undefined>>,
): MetadataEntry[] {
  const kept = entries.flatMap((old) => {
    if (!Object.hasOwn(changes, old.key)) return [old];
    const changed = changes[old.key];
    return changed === undefined ? [] : [changed];
  });
  const known = new Set(entries.map((old) => old.key));
  for (const [key, added] of Object.entries(changes)) if (added !== undefined && !known.has(key)) kept.push(added);
  return kept;
}

/** Reads the value back from its raw form, so that what is written is what a reader would see. */
function entry(key: string, type: ValueType, raw: Uint8Array): MetadataEntry {
  const limits = { ...HEADER_LIMITS, headerBytes: Number.MAX_SAFE_INTEGER };
  const cursor = new HeaderCursor(key, raw.byteLength, limits, raw);
  return { key, type, raw, value: cursor.value(type, key) };
}

function fixedRaw(type: FixedType, values: ArrayLike<number | bigint>): Uint8Array {
  const size = fixedBytes(type);
  const raw = new Uint8Array(values.length * size);
  const view = new DataView(raw.buffer);
  for (let i = 0; i < values.length; i++) writeFixed(view, i * size, type, values[i] ?? 0);
  return raw;
}

function writeFixed(view: DataView, at: number, type: FixedType, value: number | bigint): void {
  switch (type) {
    case "u64":
      return view.setBigUint64(at, BigInt(value), true);
    case "i64":
      return view.setBigInt64(at, BigInt(value), true);
    case "f32":
      return view.setFloat32(at, Number(value), true);
    case "f64":
      return view.setFloat64(at, Number(value), true);
    case "u8":
    case "i8":
    case "bool":
      return view.setInt8(at, Number(value));
    case "u16":
    case "i16":
      return view.setInt16(at, Number(value), true);
    case "u32":
    case "i32":
      return view.setInt32(at, Number(value), true);
  }
}

export function stringRaw(bytes: Uint8Array): Uint8Array {
  const raw = new Uint8Array(8 + bytes.byteLength);
  new DataView(raw.buffer).setUint32(0, bytes.byteLength, true);
  raw.set(bytes, 8);
  return raw;
}

function arrayHead(type: ValueType, length: number): Uint8Array {
  const raw = new Uint8Array(12);
  const view = new DataView(raw.buffer);
  view.setUint32(0, valueTypeId(type), true);
  setLength(view, 4, length);
  return raw;
}

export function setLength(view: DataView, at: number, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new WorkbenchError("BUG_INVARIANT", `[gguf] length to write: got ${value}, expected a whole number`);
  view.setBigUint64(at, BigInt(value), true);
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}
