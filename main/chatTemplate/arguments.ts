/**
 * The arguments of a method, filter or test that is computed here. What it does not know is
 * refused, not passed over.
 */
import { templateError } from "./budget.ts";
import { kindOf } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

export class Arguments {
  readonly name: string;
  readonly positional: readonly RuntimeValue[];
  readonly named: ReadonlyMap<string, RuntimeValue>;

  constructor(name: string, positional: readonly RuntimeValue[], named: ReadonlyMap<string, RuntimeValue>) {
    this.name = name;
    this.positional = positional;
    this.named = named;
  }

  /** By the order of their names, as Python matches them; undefined for what is not given. */
  matched<const Names extends readonly string[]>(
    ...names: Names
  ): { [Name in Names[number]]: RuntimeValue | undefined } {
    const [extra] = [...this.named.keys()].filter((name) => !names.includes(name));
    if (extra !== undefined) throw templateError(`${this.name} is given ${extra.slice(0, 50)}, which is not supported`);
    if (this.positional.length > names.length)
      throw templateError(
        `${this.name} is given ${this.positional.length} arguments, expected at most ${names.length}`,
      );
    const pairs = names.map((name, i) => [name, this.positional[i] ?? this.named.get(name)]);
    return Object.fromEntries(pairs) as { [Name in Names[number]]: RuntimeValue | undefined };
  }

  /** Those behind the first few, for another filter or test. */
  after(skipped: number, name: string): Arguments {
    return new Arguments(name, this.positional.slice(skipped), this.named);
  }

  /** A text, or undefined where none is given. */
  text(value: RuntimeValue | undefined): string | undefined {
    if (value === undefined || value.type === "NullValue") return undefined;
    return typeof value.value === "string" ? value.value : this.#refuse(value, "a text");
  }

  requiredText(value: RuntimeValue | undefined): string {
    return this.text(value) ?? this.#refuse(value, "a text");
  }

  /** Truth values are whole numbers in Python. */
  whole(value: RuntimeValue | undefined, otherwise: number): number {
    return value === undefined ? otherwise : this.requiredWhole(value);
  }

  requiredWhole(value: RuntimeValue | undefined): number {
    const isWhole = value?.type === "IntegerValue" || value?.type === "BooleanValue";
    return isWhole ? Number(value.value) : this.#refuse(value, "a whole number");
  }

  flag(value: RuntimeValue | undefined): boolean {
    return value !== undefined && value.__bool__().value;
  }

  #refuse(value: RuntimeValue | undefined, expected: string): never {
    throw templateError(
      `${this.name} is given ${value === undefined ? "nothing" : kindOf(value)}, expected ${expected}`,
    );
  }
}
