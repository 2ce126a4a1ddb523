/**
 * Calls of operators by their kind. A model repeats its blocks, so tens of thousands of calls are some hundred kinds: the same
 * operator with the same literals over values of the same types. What the arguments come to, and the types of the results, are
 * worked out for the first call of a kind and are those of all others.
 */
import { Numbering, Sequences } from "../../../ir/numbering.ts";
import type { Given, GivenArguments, Literal } from "./callArguments.ts";
import { valuesIn } from "./callArguments.ts";
import type { MilBinding, MilConstant, MilTensorType, MilValue } from "./types.ts";
import { typeText } from "./types.ts";

/** An argument in the table's order: given by each call, or a literal that all calls of the kind share. */
export interface KindArgument {
  readonly name: string;
  readonly literal: readonly [name: string, bindings: readonly MilBinding[]] | undefined;
}

export interface CallKind {
  readonly number: number;
  readonly arguments: readonly KindArgument[];
  readonly outputs: readonly MilTensorType[];
}

const literalText = (literal: Literal | undefined): string =>
  Array.isArray(literal)
    ? `list ${literal.join()}`
    : `${typeof literal} ${Object.is(literal, -0) ? "-0" : String(literal)}`;

/** Numbers for kinds of calls: equal numbers mean that checks and inference see the same. */
export class CallKinds {
  readonly #symbols = new Numbering<string>();
  /** Symbols of types and constants that were seen, because values share them. */
  readonly #known = new Map<object, number>();
  readonly #sequences = new Sequences();
  #constants = 0;

  of(type: string, given: GivenArguments): number {
    let kind = this.#sequences.step(0, this.#symbols.of(type));
    for (const name of Object.keys(given)) {
      const argument = given[name];
      if (argument === undefined) continue;
      kind = this.#sequences.step(kind, this.#symbols.of(name));
      kind = this.#argument(kind, argument);
    }
    return kind;
  }

  #argument(kind: number, argument: Exclude<Given, undefined>): number {
    const values = valuesIn(argument);
    if (values === undefined) return this.#sequences.step(kind, this.#symbols.of(literalText(argument as Literal)));
    let next = kind;
    for (const value of values) next = this.#sequences.step(next, this.#value(value));
    return next;
  }

  #value({ constness, type, constant, weight }: MilValue): number {
    // A planned weight that nothing computes is no operand.
    if (constness === "no" && weight !== undefined) return this.#symbols.of(`planned ${typeText(type)}`);
    const object = constant ?? type;
    const known = this.#known.get(object);
    if (known !== undefined && constness !== "constexpr") return known;
    const symbol = this.#symbols.of(
      `${constness} ${typeText(type)} ${constant === undefined ? "" : this.#contents(constant)}`,
    );
    if (constness !== "constexpr") this.#known.set(object, symbol);
    return symbol;
  }

  /** Inference reads constants, which are equal when they are one; of those in the weight file it sees the type. */
  #contents({ data }: MilConstant): string {
    return data.kind === "blob" ? "" : `constant ${this.#constants++}`;
  }
}
