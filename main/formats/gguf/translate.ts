/**
 * A header of version 1, or in big-endian order, as the bytes of version 3 in little-endian order.
 * Version 1 has 32-bit counts, lengths and dimensions. What the numbers mean is the reader's affair.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { HEADER_LIMITS, NeedMore } from "./cursor.ts";
import { MAGIC, MAX_DIMS } from "./header.ts";
import { VALUE_TYPES, fixedBytes } from "./values.ts";
import type { FixedType } from "./values.ts";

export interface OldForm {
  readonly version: 1 | 2 | 3;
  readonly bigEndian: boolean;
}

const MAX_ARRAY_DEPTH = 4;

export class HeaderTranslator {
  readonly #name: string;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #form: OldForm;
  #at = 0;
  #out: Uint8Array;
  #outView: DataView;
  #end = 0;

  constructor(name: string, bytes: Uint8Array, form: OldForm) {
    this.#name = name;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#form = form;
    this.#out = new Uint8Array(bytes.byteLength);
    this.#outView = new DataView(this.#out.buffer);
  }

  /** The translated header, and where it ends in the file. Throws NeedMore where the window ends before it. */
  run(): { readonly bytes: Uint8Array; readonly end: number } {
    this.#at = 8;
    this.#put32(MAGIC);
    this.#put32(3);
    const tensors = this.#count("tensors", HEADER_LIMITS.tensors);
    const keys = this.#count("keys", HEADER_LIMITS.keys);
    for (let i = 0; i < keys; i++) {
      this.#named(`key ${i}`);
      this.#value(this.#u32(), 0);
    }
    for (let i = 0; i < tensors; i++) {
      this.#named(`tensor ${i}`);
      const rank = this.#u32();
      if (rank > MAX_DIMS)
        throw this.#malformed(`dimensions of tensor ${i}: got ${rank}, expected at most ${MAX_DIMS}`);
      for (let d = 0; d < rank; d++) this.#length();
      this.#u32();
      this.#copy(1, 8);
    }
    return { bytes: this.#out.subarray(0, this.#end), end: this.#at };
  }

  #count(what: string, most: number): number {
    const count = this.#length();
    if (count <= most) return count;
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[${this.#name}] number of ${what}: got ${count}, expected at most ${most}`,
      {
        hint: "No known model comes near this; the file is probably damaged.",
      },
    );
  }

  /** Zeros would be names without end. */
  #named(what: string): void {
    if (this.#text() === 0) throw this.#malformed(`${what} has no name`);
  }

  #malformed(message: string): WorkbenchError {
    return new WorkbenchError("INPUT_MALFORMED", `[${this.#name}] ${message}`, {
      hint: "The header contradicts itself; the file is damaged or was written by a faulty program.",
    });
  }

  get #lengthBytes(): number {
    return this.#form.version === 1 ? 4 : 8;
  }

  #need(count: number): void {
    if (this.#at + count > this.#bytes.byteLength) throw new NeedMore(this.#at + count);
  }

  #room(count: number): void {
    if (this.#end + count <= this.#out.byteLength) return;
    const larger = new Uint8Array(Math.max(this.#end + count, Math.ceil(this.#out.byteLength * 1.5)));
    larger.set(this.#out.subarray(0, this.#end));
    this.#out = larger;
    this.#outView = new DataView(larger.buffer);
  }

  #put32(value: number): void {
    this.#room(4);
    this.#outView.setUint32(this.#end, value, true);
    this.#end += 4;
  }

  #u32(): number {
    this.#need(4);
    const value = this.#view.getUint32(this.#at, !this.#form.bigEndian);
    this.#at += 4;
    this.#put32(value);
    return value;
  }

  /** A count, length or dimension. */
  #length(): number {
    const size = this.#lengthBytes;
    this.#need(size);
    const little = !this.#form.bigEndian;
    const first = this.#view.getUint32(this.#at, little);
    const second = size === 4 ? 0 : this.#view.getUint32(this.#at + 4, little);
    const [low, high] = size === 8 && !little ? [second, first] : [first, second];
    this.#at += size;
    this.#room(8);
    this.#outView.setUint32(this.#end, low, true);
    this.#outView.setUint32(this.#end + 4, high, true);
    this.#end += 8;
    // What is beyond has no end in any file: the window tells.
    return high * 2 ** 32 + low;
  }

  /** Its length. */
  #text(): number {
    const length = this.#length();
    this.#copy(length, 1);
    return length;
  }

  #value(typeId: number, depth: number): void {
    const type = VALUE_TYPES[typeId];
    if (type === undefined)
      throw this.#malformed(`type of a value: got ${typeId}, expected 0 to ${VALUE_TYPES.length - 1}`);
    if (type === "string") return void this.#text();
    if (type !== "array") return this.#copy(1, fixedBytes(type));
    if (depth >= MAX_ARRAY_DEPTH) throw this.#malformed(`arrays nested deeper than ${MAX_ARRAY_DEPTH}`);
    const inner = this.#u32();
    const name = VALUE_TYPES[inner];
    const count = this.#length();
    if (name === "string" || name === "array") {
      // Each has at least its length: a count that no file can hold is refused before a million are read.
      this.#need(count * this.#lengthBytes);
      for (let i = 0; i < count; i++) this.#value(inner, depth + 1);
    } else if (name === undefined) this.#value(inner, depth);
    else this.#copy(count, fixedBytes(name satisfies FixedType));
  }

  /** `count` numbers of `size` bytes, in the other order where the file has it. */
  #copy(count: number, size: number): void {
    const total = count * size;
    if (total === 0) return;
    this.#need(total);
    this.#room(total);
    const target = this.#out.subarray(this.#end, this.#end + total);
    target.set(this.#bytes.subarray(this.#at, this.#at + total));
    if (this.#form.bigEndian && size > 1)
      for (let at = 0; at < total; at += size) target.subarray(at, at + size).reverse();
    this.#at += total;
    this.#end += total;
  }
}
