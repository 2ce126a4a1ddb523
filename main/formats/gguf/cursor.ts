/**
 * Reads a header from the beginning of a file that is only partly in memory. When bytes are missing it throws
 * `NeedMore`; the reader then fetches a larger window and repeats the current step. Every count is compared with the
 * size of the file before anything is allocated for it.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { FixedArray, StringTable, VALUE_TYPES, fixedBytes, readFixed } from "./values.ts";
import type { MetadataValue, ValueType } from "./values.ts";

/** Thrown when the window ends too early; `end` is where the missing bytes end, as far as is known. */
export class NeedMore extends Error {
  readonly end: number;
  constructor(end: number) {
    super("more bytes");
    this.end = end;
  }
}

export interface HeaderLimits {
  readonly headerBytes: number;
  readonly keys: number;
  readonly tensors: number;
  readonly keyBytes: number;
  readonly tensorNameBytes: number;
}

/** Real files stay far below: a 262 000-token vocabulary with merges takes 20 MB. */
export const HEADER_LIMITS: HeaderLimits = {
  headerBytes: 64 << 20,
  keys: 65_536,
  tensors: 100_000,
  keyBytes: 65_535,
  tensorNameBytes: 1024,
};

const MAX_ARRAY_DEPTH = 4;
/** Arrays of arrays are rare and small. Each costs an object, so one budget limits them for the whole header. */
const MAX_NESTED_ARRAYS = 10_000;

/** Where reading can resume, and how much of the budget was spent by then. */
export interface HeaderMark {
  readonly position: number;
  readonly nested: number;
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class HeaderCursor {
  readonly name: string;
  readonly fileBytes: number;
  readonly limits: HeaderLimits;
  position = 0;
  #bytes: Uint8Array;
  #view: DataView;
  #nested = 0;

  constructor(name: string, fileBytes: number, limits: HeaderLimits, bytes: Uint8Array) {
    this.name = name;
    this.fileBytes = fileBytes;
    this.limits = limits;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  mark(): HeaderMark {
    return { position: this.position, nested: this.#nested };
  }

  /** Reads again from a mark; what was read since is not counted twice. */
  rewind(mark: HeaderMark): void {
    this.position = mark.position;
    this.#nested = mark.nested;
  }

  get available(): number {
    return this.#bytes.byteLength;
  }

  /** The same file with a longer beginning. */
  replaceWindow(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  slice(start: number, end: number): Uint8Array {
    return this.#bytes.subarray(start, end);
  }

  malformed(message: string): WorkbenchError {
    return new WorkbenchError("INPUT_MALFORMED", `[${this.name}] ${message}`, {
      hint: "The header contradicts itself; the file is damaged or was written by a faulty program.",
    });
  }

  /** Checks that `count` more bytes fit into the file and are in the window. */
  need(count: number, what: string): void {
    const end = this.position + count;
    if (end > this.fileBytes)
      throw new WorkbenchError(
        "INPUT_TRUNCATED",
        `[${this.name}] ${what} at byte ${this.position}: got a file of ${this.fileBytes} bytes, expected at least ${end}`,
        { hint: "The file ends inside its header; download or copy it again." },
      );
    if (end > this.limits.headerBytes)
      throw new WorkbenchError(
        "INPUT_LIMIT",
        `[${this.name}] ${what}: got a header of at least ${end} bytes, expected at most ${this.limits.headerBytes}`,
        { hint: "No known model has a header this long; the file is probably damaged." },
      );
    if (end > this.#bytes.byteLength) throw new NeedMore(end);
  }

  u32(what: string): number {
    this.need(4, what);
    const value = this.#view.getUint32(this.position, true);
    this.position += 4;
    return value;
  }

  /** A 64-bit length, count, dimension or offset; no file has one above 2^53. */
  u64(what: string): number {
    this.need(8, what);
    const value = this.#view.getUint32(this.position, true) + this.#view.getUint32(this.position + 4, true) * 2 ** 32;
    if (value > Number.MAX_SAFE_INTEGER) throw this.malformed(`${what}: got ${value}, expected less than 2^53`);
    this.position += 8;
    return value;
  }

  /** A count of things that take at least `leastBytes` each, checked against what is left of the file. */
  count(what: string, leastBytes: number): number {
    const value = this.u64(what);
    const room = Math.floor((this.fileBytes - this.position) / leastBytes);
    if (value > room)
      throw new WorkbenchError(
        "INPUT_TRUNCATED",
        `[${this.name}] ${what}: got ${value}, but the file has room for at most ${room} after byte ${this.position}`,
        { hint: "The file is cut off, or its header is damaged." },
      );
    return value;
  }

  /** A short text that must be valid UTF-8: a key or a tensor's name. */
  name64(what: string, mostBytes: number): string {
    const length = this.u64(`${what} length`);
    if (length > mostBytes) throw this.malformed(`${what} length: got ${length}, expected at most ${mostBytes}`);
    this.need(length, what);
    const bytes = this.#bytes.subarray(this.position, this.position + length);
    this.position += length;
    try {
      return strict.decode(bytes);
    } catch {
      throw this.malformed(`${what} is not valid UTF-8`);
    }
  }

  valueType(what: string): ValueType {
    const id = this.u32(what);
    const type = VALUE_TYPES[id];
    if (type === undefined) throw this.malformed(`${what}: got ${id}, expected 0 to ${VALUE_TYPES.length - 1}`);
    return type;
  }

  value(type: ValueType, what: string, depth = 0): MetadataValue {
    if (type === "string") {
      const length = this.u64(`${what} length`);
      this.need(length, what);
      const bytes = this.#bytes.subarray(this.position, this.position + length);
      this.position += length;
      return { kind: "string", bytes };
    }
    if (type === "array") return this.#array(what, depth);
    const size = fixedBytes(type);
    this.need(size, what);
    const value = readFixed(this.#view, this.position, type);
    this.position += size;
    if (type === "bool") return { kind: "bool", value: value === true };
    if (type === "u64" || type === "i64") return { kind: "big", type, value: BigInt(value) };
    return { kind: "number", type, value: Number(value) };
  }

  #array(what: string, depth: number): MetadataValue {
    if (depth >= MAX_ARRAY_DEPTH) throw this.malformed(`${what}: arrays nested deeper than ${MAX_ARRAY_DEPTH}`);
    const type = this.valueType(`${what} element type`);
    if (type === "string") return { kind: "strings", strings: this.#strings(what) };
    if (type === "array") {
      const length = this.count(`${what} length`, 12);
      const items: MetadataValue[] = [];
      for (let i = 0; i < length; i++) {
        if (++this.#nested > MAX_NESTED_ARRAYS)
          throw new WorkbenchError(
            "INPUT_LIMIT",
            `[${this.name}] ${what}: got more than ${MAX_NESTED_ARRAYS} inner arrays in the header, expected fewer`,
            { hint: "No known model has this many; the file is probably damaged." },
          );
        items.push(this.value("array", what, depth + 1));
      }
      return { kind: "arrays", items };
    }
    const length = this.count(`${what} length`, fixedBytes(type));
    const size = length * fixedBytes(type);
    this.need(size, what);
    const bytes = this.#bytes.subarray(this.position, this.position + size);
    this.position += size;
    return { kind: "fixedArray", type, array: new FixedArray(type, bytes) };
  }

  /** Walks over the lengths only; texts are decoded when they are read. */
  #strings(what: string): StringTable {
    const length = this.count(`${what} length`, 8);
    const begin = this.position;
    // The strings cannot be fewer bytes than their lengths: ask for those at once.
    this.need(length * 8, what);
    const view = this.#view;
    const have = this.#bytes.byteLength;
    const starts = new Uint32Array(length + 1);
    let at = begin;
    for (let i = 0; i < length; i++) {
      if (at + 8 > have) throw this.#moreStrings(what, at + 8, begin, i, length);
      const bytes = view.getUint32(at, true);
      if (view.getUint32(at + 4, true) !== 0) throw this.malformed(`${what}[${i}] is longer than 4 GiB`);
      at += 8;
      starts[i] = at - begin;
      at += bytes;
      if (at > have) throw this.#moreStrings(what, at, begin, i, length);
    }
    starts[length] = at - begin + 8;
    this.position = at;
    return new StringTable(this.#bytes.subarray(begin, at), starts);
  }

  /** Estimates for the reader how long the whole table is, from the part that was read. */
  #moreStrings(what: string, end: number, begin: number, seen: number, length: number): Error {
    const back = this.position;
    this.position = end;
    try {
      this.need((length - seen - 1) * 8, what);
    } catch (error) {
      if (!(error instanceof NeedMore)) return error instanceof Error ? error : this.malformed(what);
    } finally {
      this.position = back;
    }
    const guess = end + Math.ceil(((end - begin) / (seen + 1)) * (length - seen - 1) * 1.05);
    return new NeedMore(Math.max(end, Math.min(guess, this.fileBytes, this.limits.headerBytes)));
  }
}
