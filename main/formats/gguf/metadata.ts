/**
 * Typed access to a header's keys. A key that must be there and is not, or has another type, gives
 * an error that names it and says what to do; numbers of any integer width are accepted where an
 * integer is meant.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { quote } from "./header.ts";
import { decodeText } from "./values.ts";
import type { MetadataEntry, MetadataValue, StringTable } from "./values.ts";

export class Metadata {
  readonly entries: readonly MetadataEntry[];
  readonly #file: string;
  readonly #byKey: ReadonlyMap<string, MetadataEntry>;

  constructor(file: string, entries: readonly MetadataEntry[]) {
    this.#file = file;
    this.entries = entries;
    this.#byKey = new Map(entries.map((entry) => [entry.key, entry]));
  }

  get size(): number {
    return this.entries.length;
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  get(key: string): MetadataValue | undefined {
    return this.#byKey.get(key)?.value;
  }

  entry(key: string): MetadataEntry | undefined {
    return this.#byKey.get(key);
  }

  /** An integer or a float; undefined when the key is absent. */
  optionalNumber(key: string): number | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (value.kind === "number") return value.value;
    if (value.kind === "big") return Number(value.value);
    throw this.#wrongType(key, value, "a number");
  }

  /** A whole number from 0 to 2^53. */
  optionalCount(key: string): number | undefined {
    const value = this.optionalNumber(key);
    if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return value;
    throw this.#wrong(key, `got ${value}`, "a whole number that is not negative");
  }

  /**
   * A count that may also be given per layer. Equal entries count as one number; undefined when
   * absent. Layers that differ are the caller's to refuse, so they come back as the list.
   */
  countOrList(key: string): number | readonly number[] | undefined {
    const value = this.get(key);
    if (value?.kind !== "fixedArray") return this.optionalCount(key);
    const { array } = value;
    if (array.length === 0 || array.length > 65_536)
      throw this.#wrong(key, `got ${array.length} entries`, "one for each layer");
    const list = Array.from({ length: array.length }, (_, i) => array.numberAt(i));
    const first = list[0] ?? 0;
    if (!list.every((n) => Number.isSafeInteger(n) && n >= 0))
      throw this.#wrong(key, "got a negative or broken number", "counts");
    return list.every((n) => n === first) ? first : list;
  }

  optionalBool(key: string): boolean | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (value.kind === "bool") return value.value;
    throw this.#wrongType(key, value, "a bool");
  }

  optionalString(key: string): string | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (value.kind === "string") return decodeText(value.bytes);
    throw this.#wrongType(key, value, "a string");
  }

  optionalStrings(key: string): StringTable | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (value.kind === "strings") return value.strings;
    throw this.#wrongType(key, value, "an array of strings");
  }

  optionalFloats(key: string): Float32Array | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (value.kind === "fixedArray" && value.array.type !== "bool") return value.array.toFloat32();
    throw this.#wrongType(key, value, "an array of numbers");
  }

  optionalIntegers(key: string): Int32Array | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (value.kind === "fixedArray" && value.array.type !== "f32" && value.array.type !== "f64")
      return value.array.toInt32();
    throw this.#wrongType(key, value, "an array of integers");
  }

  number(key: string): number {
    return this.optionalNumber(key) ?? this.#missing(key);
  }
  count(key: string): number {
    return this.optionalCount(key) ?? this.#missing(key);
  }
  string(key: string): string {
    return this.optionalString(key) ?? this.#missing(key);
  }
  strings(key: string): StringTable {
    return this.optionalStrings(key) ?? this.#missing(key);
  }

  #missing(key: string): never {
    throw new WorkbenchError("INPUT_MISSING_KEY", `[${this.#file}] the key ${quote(key)} is missing`, {
      hint: "Convert the model again with a current converter; this file lacks something that every model of its kind has.",
      details: { key },
    });
  }

  #wrongType(key: string, value: MetadataValue, expected: string): WorkbenchError {
    return this.#wrong(key, `got ${describeKind(value)}`, expected);
  }

  #wrong(key: string, got: string, expected: string): WorkbenchError {
    return new WorkbenchError("INPUT_MALFORMED", `[${this.#file}] key ${quote(key)}: ${got}, expected ${expected}`, {
      hint: "The file was written by a faulty program; convert the model again.",
      details: { key },
    });
  }
}

export function describeKind(value: MetadataValue): string {
  switch (value.kind) {
    case "number":
    case "big":
      return value.type;
    case "bool":
    case "string":
      return value.kind;
    case "strings":
      return `string[${value.strings.length}]`;
    case "fixedArray":
      return `${value.array.type}[${value.array.length}]`;
    case "arrays":
      return `array[${value.items.length}]`;
  }
}

/** Number of elements of an array; undefined for a single value. */
export function arrayLength(value: MetadataValue): number | undefined {
  if (value.kind === "strings") return value.strings.length;
  if (value.kind === "fixedArray") return value.array.length;
  return value.kind === "arrays" ? value.items.length : undefined;
}

/** One element of an array as text (strings as they are), or the value itself when it is single. */
export function elementText(value: MetadataValue, index: number): string {
  switch (value.kind) {
    case "strings":
      return value.strings.textAt(index);
    case "fixedArray": {
      const element = value.array.valueAt(index);
      return typeof element === "number" ? numberText(element, value.array.type) : String(element);
    }
    case "arrays": {
      const item = value.items[index];
      return item === undefined ? "" : previewValue(item);
    }
    case "string":
      return decodeText(value.bytes);
    case "number":
      return numberText(value.value, value.type);
    case "big":
    case "bool":
      return String(value.value);
  }
}

/** The shortest decimal that is the same f32: 1e-6 and not 9.999999974752427e-7. */
function numberText(value: number, type: string): string {
  if (type !== "f32" || !Number.isFinite(value)) return String(value);
  for (let digits = 6; digits <= 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(value);
}

/** A value in a few words: whole when short, otherwise its beginning. */
export function previewValue(value: MetadataValue, mostCharacters = 120): string {
  const length = arrayLength(value);
  if (length === undefined) {
    // A long text is not decoded whole for a preview of it.
    if (value.kind !== "string") return elementText(value, 0);
    const text = decodeText(value.bytes.subarray(0, mostCharacters * 4));
    return text.length > mostCharacters ? `${text.slice(0, mostCharacters)}…` : text;
  }
  let text = "";
  for (let i = 0; i < length; i++) {
    const element = elementText(value, i);
    text += `${i === 0 ? "" : ", "}${value.kind === "strings" ? JSON.stringify(element.slice(0, mostCharacters)) : element}`;
    if (text.length > mostCharacters) return `[${text.slice(0, mostCharacters)}…`;
  }
  return `[${text}]`;
}
