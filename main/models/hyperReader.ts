/** Reads the hyper-parameters of one architecture from a file's keys, and says what is wrong with them. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { describeKind } from "../formats/gguf/metadata.ts";
import type { FixedType } from "../formats/gguf/values.ts";

const NOT_WHOLE: ReadonlySet<FixedType> = new Set<FixedType>(["f32", "f64", "bool"]);

export class HyperReader {
  readonly file: GgufFile;
  /** general.architecture, the prefix of the keys. */
  readonly name: string;

  constructor(file: GgufFile, name: string) {
    this.file = file;
    this.name = name;
  }

  has(tensor: string): boolean {
    return this.file.tensor(tensor) !== undefined;
  }

  /** A count above 0 that must be there. */
  positive(key: string): number {
    return this.#above0(key, this.file.metadata.count(this.#key(key)));
  }

  optionalCount(key: string): number | undefined {
    return this.file.metadata.optionalCount(this.#key(key));
  }

  /** An even count above 0. */
  evenCount(key: string, otherwise: number): number {
    const count = this.optionalCount(key) ?? otherwise;
    if (count > 0 && count % 2 === 0) return count;
    throw this.badKey(key, count, "an even number above 0");
  }

  /** A count, or a list of yes and no, one for each layer. */
  countOrFlags(key: string): number | readonly boolean[] | undefined {
    const value = this.file.metadata.get(this.#key(key));
    if (value?.kind !== "fixedArray") return this.optionalCount(key);
    const { array } = value;
    return Array.from({ length: Math.min(array.length, 65_536) }, (_, i) => array.numberAt(i) !== 0);
  }

  /** Whole numbers as the key lists them, of up to 64 bits; empty where it is absent. */
  wholeNumbers(key: string): readonly bigint[] {
    const value = this.file.metadata.get(this.#key(key));
    if (value === undefined) return [];
    if (value.kind !== "fixedArray" || NOT_WHOLE.has(value.type))
      throw this.badKey(key, describeKind(value), "a list of whole numbers");
    const { array } = value;
    return Array.from({ length: Math.min(array.length, 65_536) }, (_, i) => BigInt(array.valueAt(i)));
  }

  number(key: string): number {
    return this.file.metadata.number(this.#key(key));
  }

  optionalNumber(key: string): number | undefined {
    return this.file.metadata.optionalNumber(this.#key(key));
  }

  /** The number under a key; undefined also where the key has another type. */
  looseNumber(key: string): number | undefined {
    const value = this.file.metadata.get(this.#key(key));
    return value?.kind === "number" ? value.value : undefined;
  }

  optionalText(key: string): string | undefined {
    return this.file.metadata.optionalString(this.#key(key));
  }

  /** A list of texts; empty where the key is absent. */
  texts(key: string): readonly string[] {
    const table = this.file.metadata.optionalStrings(this.#key(key));
    return table === undefined ? [] : Array.from({ length: Math.min(table.length, 65_536) }, (_, i) => table.textAt(i));
  }

  isTrue(key: string): boolean {
    const value = this.file.metadata.get(this.#key(key));
    return value?.kind === "bool" && value.value;
  }

  /** False also where the key has another type. */
  isFalse(key: string): boolean {
    const value = this.file.metadata.get(this.#key(key));
    return value?.kind === "bool" && !value.value;
  }

  /** One count for each layer: the key holds a single one, or a list of them. */
  perLayer(key: string, layers: number, fallback?: number | readonly number[]): readonly number[] {
    const name = this.#key(key);
    const value = this.file.metadata.countOrList(name) ?? fallback ?? this.file.metadata.count(name);
    if (typeof value === "number") return new Array<number>(layers).fill(value);
    if (value.length === layers) return value;
    throw this.malformed(`${name} has ${value.length} entries: expected ${layers}, one for each layer`);
  }

  /** One number for each layer, under a key without the architecture's name: a single one, or a list of them. */
  numbersPerLayer(name: string, layers: number): readonly number[] {
    const { metadata } = this.file;
    if (metadata.get(name)?.kind !== "fixedArray") return new Array<number>(layers).fill(metadata.number(name));
    const list = [...(metadata.optionalFloats(name) ?? [])];
    if (list.length >= layers) return list.slice(0, layers);
    throw this.malformed(`${name} has ${list.length} entries: expected ${layers}, one for each layer`);
  }

  /** The same with counts above 0; unless layers may differ, refuses a file whose layers do. */
  positivePerLayer(
    key: string,
    layers: number,
    { mayDiffer, fallback }: { readonly mayDiffer: boolean; readonly fallback: number | readonly number[] | undefined },
  ): readonly number[] {
    if (!mayDiffer && typeof this.file.metadata.countOrList(this.#key(key)) === "object")
      throw this.refuse(`Its layers differ in ${this.#key(key)}, which is not supported.`);
    return this.perLayer(key, layers, fallback).map((count) => this.#above0(key, count));
  }

  /** A count above 0 that some layers have and that is the same for these; 0 in the others. */
  sameWhereAny(
    key: string,
    layers: number,
    fallback?: number | readonly number[],
  ): { readonly count: number; readonly has: (layer: number) => boolean } {
    const each = this.perLayer(key, layers, fallback);
    const given = new Set(each.filter((count) => count !== 0));
    const [count = 0] = given;
    if (given.size > 1) throw this.refuse(`Its layers differ in ${this.#key(key)}, which is not supported.`);
    return { count: this.#above0(key, count), has: (layer) => each[layer] !== 0 };
  }

  /** The file contradicts itself. */
  malformed(message: string): WorkbenchError {
    return new WorkbenchError("INPUT_MALFORMED", `[${this.file.name}] ${message}`, {
      hint: "The keys contradict each other; convert the model again.",
    });
  }

  badKey(key: string, got: number | string, expected: string): WorkbenchError {
    return this.malformed(`${this.#key(key)}: got ${got}, expected ${expected}`);
  }

  /** The file is right, but the family has no graph for it. */
  refuse(sentence: string): WorkbenchError {
    return new WorkbenchError("UNSUPPORTED_ARCHITECTURE", `[${this.file.name}] ${sentence}`);
  }

  #above0(key: string, value: number): number {
    if (value > 0) return value;
    throw this.badKey(key, value, "more than 0");
  }

  #key(key: string): string {
    return `${this.name}.${key}`;
  }
}
