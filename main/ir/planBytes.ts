/**
 * The beginning of every native plan: little-endian fields, and one table each of names, symbols
 * and sizes. native/src/core/reader.h reads the fields. The engine's own plan follows the tables.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Bindings, Dim } from "./dim.ts";
import { dimSymbols, dimTerms } from "./dim.ts";
import { DTYPES, PACKED_TYPES } from "./dtype.ts";
import type { TensorType } from "./type.ts";

/** An index that is none. */
export const ABSENT = 0xffffffff;

const TYPES: readonly string[] = [...DTYPES, ...PACKED_TYPES];
export const typeCode = (dtype: string): number => TYPES.indexOf(dtype);

export class ByteWriter {
  #bytes = new Uint8Array(1 << 16);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;

  #room(bytes: number): number {
    const at = this.#at;
    this.#at += bytes;
    if (this.#at > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#at, this.#bytes.length * 2));
      grown.set(this.#bytes);
      this.#bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
    return at;
  }
  u32(value: number): void {
    const at = this.#room(4);
    this.#view.setUint32(at, value, true);
  }
  u64(value: number): void {
    const at = this.#room(8);
    this.#view.setBigUint64(at, BigInt(value), true);
  }
  f64(value: number): void {
    const at = this.#room(8);
    this.#view.setFloat64(at, value, true);
  }
  blob(bytes: Uint8Array): void {
    const at = this.#room(bytes.length);
    this.#bytes.set(bytes, at);
  }
  text(text: string): void {
    const bytes = new TextEncoder().encode(text);
    if (bytes.length > 65535)
      throw new WorkbenchError("IR_STRUCTURE", `[plan] a name of ${bytes.length} bytes is too long`);
    this.u32(bytes.length);
    this.blob(bytes);
    this.#room((4 - (bytes.length % 4)) % 4);
  }
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#at);
  }
}

/** A device's kernels hold a value's sizes in a list of fixed length. */
export function checkAxes(device: string, { shape }: TensorType, most: number): void {
  if (shape.length > most)
    throw new WorkbenchError(
      "UNSUPPORTED_OP",
      `[${device}] a value of ${shape.length} axes: got ${shape.length}, expected at most ${most}`,
      { hint: "Join axes with reshape; the reference takes any number of them." },
    );
}

/** Names, symbols and sizes, each once. Asking for one adds it and gives its number. */
export class PlanTables {
  readonly #names = new Map<string, number>();
  readonly #symbols = new Map<string, number>();
  readonly #sizes = new Map<Dim, number>();
  readonly #limits: Bindings;

  /** `limits`: the largest value of each symbol. */
  constructor(limits: Bindings) {
    this.#limits = limits;
    for (const symbol of Object.keys(limits)) this.symbol(symbol);
  }

  name(text: string): number {
    return numberOf(this.#names, text);
  }
  symbol(text: string): number {
    return numberOf(this.#symbols, text);
  }
  size(dim: Dim): number {
    for (const symbol of dimSymbols(dim)) this.symbol(symbol);
    return numberOf(this.#sizes, dim);
  }

  /** The finished tables; nothing may be added afterwards. */
  write(out: ByteWriter): void {
    // Symbols are names too.
    const symbols = [...this.#symbols.keys()].map((symbol) => [this.name(symbol), this.#limits[symbol] ?? 0] as const);
    out.u32(this.#names.size);
    for (const text of this.#names.keys()) out.text(text);
    out.u32(symbols.length);
    for (const [name, limit] of symbols) {
      out.u32(name);
      out.u64(limit);
    }
    out.u32(this.#sizes.size);
    for (const size of this.#sizes.keys()) this.#writeSize(out, size);
  }

  /** A polynomial: a sum of products of symbols. */
  #writeSize(out: ByteWriter, size: Dim): void {
    const terms = dimTerms(size);
    out.u32(terms.length);
    for (const term of terms) {
      out.f64(term.coefficient);
      out.u32(term.symbols.length);
      for (const symbol of term.symbols) out.u32(this.symbol(symbol));
    }
  }
}

function numberOf<K>(known: Map<K, number>, key: K): number {
  const number = known.get(key) ?? known.size;
  known.set(key, number);
  return number;
}
