/** Python's two ways to put values into a text: `'%s' % x` and `'{}'.format(x)`, in their simple forms. */
import type { Arguments } from "./arguments.ts";
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { kindOf, numberOf, textOf, written } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

/** A text in parts, each asked for before the next is made. */
export class Parts {
  readonly #budget: TemplateBudget;
  #length = 0;
  text = "";
  constructor(budget: TemplateBudget) {
    this.#budget = budget;
  }
  add(part: string): void {
    this.#budget.spend(1);
    this.#length += part.length;
    if (this.#length > this.#budget.limits.textCharacters) this.#budget.text(this.#length);
    this.text += part;
  }
}

const PERCENT = /%(?:([-0]?)(\d*)(?:\.(\d+))?([a-zA-Z])|%)|%/gu;

export function formatPercent(pattern: string, right: RuntimeValue, budget: TemplateBudget): string {
  const values: readonly RuntimeValue[] =
    right.type === "TupleValue" && Array.isArray(right.value) ? right.value : [right];
  const parts = new Parts(budget);
  let used = 0;
  let start = 0;
  for (const match of pattern.matchAll(PERCENT)) {
    const [whole, flag = "", width = "", precision, letter] = match;
    parts.add(pattern.slice(start, match.index));
    start = match.index + whole.length;
    if (whole === "%") throw templateError("a text to be filled with % has a form that is not supported");
    if (letter === undefined) {
      parts.add("%");
      continue;
    }
    const value = values[used++];
    if (value === undefined) throw templateError("a text to be filled with % has fewer values than places");
    const text = converted(letter, value, precision === undefined ? undefined : Number(precision), budget);
    budget.text(Math.max(text.length, Number(width)));
    parts.add(padded(text, flag, Number(width), "sr".includes(letter)));
  }
  if (used < values.length && right.type !== "ObjectValue" && right.type !== "ArrayValue")
    throw templateError("a text to be filled with % has more values than places");
  parts.add(pattern.slice(start));
  return parts.text;
}

function converted(letter: string, value: RuntimeValue, precision: number | undefined, budget: TemplateBudget): string {
  if (letter === "s") return shortened(textOf(value, budget), precision);
  if (letter === "r") return shortened(written(value, budget), precision);
  const number = numberOf(value);
  if (number === undefined) throw templateError(`%${letter} is given ${kindOf(value)}, expected a number`);
  if ((letter === "d" || letter === "i") && precision === undefined && Number.isSafeInteger(Math.trunc(number)))
    return String(Math.trunc(number));
  if (letter === "f" && Number.isFinite(number) && Math.abs(number) < 1e21 && (precision ?? 6) <= 60)
    return fixed(number, precision ?? 6);
  throw templateError(`%${letter} in this form is not supported`);
}

const shortened = (text: string, characters: number | undefined): string =>
  characters === undefined
    ? text
    : Array.from(text.slice(0, 2 * characters))
        .slice(0, characters)
        .join("");

function padded(text: string, flag: string, width: number, isText: boolean): string {
  if (flag === "-") return text.padEnd(width);
  if (flag !== "0" || isText) return text.padStart(width);
  const sign = text.startsWith("-") ? "-" : "";
  return sign + text.slice(sign.length).padStart(width - sign.length, "0");
}

/** Formats with fixed decimals; ties round to even (JavaScript rounds up). */
export function fixed(number: number, decimals: number): string {
  const size = Math.abs(number);
  const exact = size.toFixed(Math.min(100, decimals + 40));
  const point = exact.indexOf(".");
  const cut = decimals === 0 ? exact.slice(0, point) : exact.slice(0, point + 1 + decimals);
  const isMiddle = /^50*$/u.test(exact.slice(point + 1 + decimals));
  const rounded = isMiddle && /[02468]$/u.test(cut) ? cut : size.toFixed(decimals);
  return `${number < 0 || Object.is(number, -0) ? "-" : ""}${rounded}`;
}

const BRACES = /\{\{|\}\}|\{(\w*)\}|[{}]/gu;

export function formatBraces(pattern: string, args: Arguments, budget: TemplateBudget): string {
  const parts = new Parts(budget);
  let next = 0;
  let start = 0;
  for (const match of pattern.matchAll(BRACES)) {
    const [whole, name] = match;
    parts.add(pattern.slice(start, match.index));
    start = match.index + whole.length;
    if (whole === "{{" || whole === "}}") parts.add(whole.slice(1));
    else if (name === undefined)
      throw templateError("format with more than names or numbers in braces is not supported");
    else {
      const value = name === "" ? args.positional[next++] : (args.positional[placeOf(name)] ?? args.named.get(name));
      if (value === undefined) throw templateError("format has fewer values than places");
      parts.add(textOf(value, budget));
    }
  }
  parts.add(pattern.slice(start));
  return parts.text;
}
const placeOf = (name: string): number => (/^\d+$/u.test(name) ? Number(name) : -1);
