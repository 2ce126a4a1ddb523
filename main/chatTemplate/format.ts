/** Python's two ways to put values into a text: `'%s' % x` and `'{}'.format(x)`. */
import type { Arguments } from "./arguments.ts";
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { attributeOf } from "./containers.ts";
import { firstCharacters, formatted, numberIn } from "./numberFormat.ts";
import { kindOf, numberOf, numberValue, partsOf, textOf, textValue, written } from "./values.ts";
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

const PERCENT = /%(?:(?:\(([^()]*)\))?([-0+ #]*)(\d*)(?:\.(\d*))?([a-zA-Z])|%)|%/gu;

export function formatPercent(pattern: string, right: RuntimeValue, budget: TemplateBudget): string {
  const values: readonly RuntimeValue[] =
    right.type === "TupleValue" && Array.isArray(right.value) ? right.value : [right];
  const parts = new Parts(budget);
  let used = 0;
  let start = 0;
  for (const match of pattern.matchAll(PERCENT)) {
    const [whole, name, flags = "", width = "", precision, letter] = match;
    parts.add(pattern.slice(start, match.index));
    start = match.index + whole.length;
    if (whole === "%") throw templateError("a text to be filled with % has a form that is not supported");
    if (letter === undefined) {
      parts.add("%");
      continue;
    }
    const value = name === undefined ? values[used++] : partsOf(right)?.get(name);
    if (value === undefined) throw templateError("a text to be filled with % has fewer values than places");
    budget.text(Number(width));
    const digits = precision === undefined ? undefined : Number(precision);
    parts.add(percentPart(letter, value, { flags, width: Number(width), precision: digits }, budget));
  }
  if (used < values.length && right.type !== "ObjectValue" && right.type !== "ArrayValue")
    throw templateError("a text to be filled with % has more values than places");
  parts.add(pattern.slice(start));
  return parts.text;
}

interface PercentForm {
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
}

function percentPart(
  letter: string,
  value: RuntimeValue,
  { flags, width, precision }: PercentForm,
  budget: TemplateBudget,
): string {
  const isLeft = flags.includes("-");
  const text = letter === "s" ? textOf(value, budget) : letter === "r" ? written(value, budget) : undefined;
  if (text !== undefined) {
    const short = firstCharacters(text, precision);
    return isLeft ? short.padEnd(width) : short.padStart(width);
  }
  const number = numberOf(value);
  if (number === undefined) throw templateError(`%${letter} is given ${kindOf(value)}, expected a number`);
  const isWhole = "diu".includes(letter);
  if (!isWhole && !"xXofFeEgG".includes(letter)) throw templateError(`%${letter} is not supported`);
  if (isWhole && precision !== undefined) throw templateError(`%${letter} in this form is not supported`);
  return numberIn(isWhole ? numberValue(Math.trunc(number), false) : value, {
    fill: flags.includes("0") && !isLeft ? "0" : " ",
    align: isLeft ? "<" : flags.includes("0") ? "=" : ">",
    sign: flags.includes("+") ? "+" : flags.includes(" ") ? " " : "",
    isAlternate: flags.includes("#"),
    width,
    group: "",
    precision,
    letter: isWhole ? "d" : letter,
  });
}

const BRACES = /\{\{|\}\}|\{([^{}!:]*)(?:!([rs]))?(?::([^{}]*))?\}|[{}]/gu;

export function formatBraces(pattern: string, args: Arguments, budget: TemplateBudget): string {
  const parts = new Parts(budget);
  let next = 0;
  let start = 0;
  for (const match of pattern.matchAll(BRACES)) {
    const [whole, field, conversion, description = ""] = match;
    parts.add(pattern.slice(start, match.index));
    start = match.index + whole.length;
    if (whole === "{{" || whole === "}}") parts.add(whole.slice(1));
    else if (field === undefined) throw templateError("format with braces in braces is not supported");
    else {
      const [, name = "", path = ""] = /^([^.[]*)([\s\S]*)$/u.exec(field) ?? [];
      const given = name === "" ? args.positional[next++] : (args.positional[placeOf(name)] ?? args.named.get(name));
      if (given === undefined) throw templateError("format has fewer values than places");
      const value = path === "" ? given : attributeOf(given, pathOf(path));
      const text = conversion === "r" ? textValue(written(value, budget)) : value;
      parts.add(formatted(conversion === "s" ? textValue(textOf(value, budget)) : text, description, budget));
    }
  }
  parts.add(pattern.slice(start));
  return parts.text;
}
const placeOf = (name: string): number => (/^\d+$/u.test(name) ? Number(name) : -1);
/** ".a[0]" as "a.0". */
const pathOf = (path: string): string => path.replace(/\[([^\]]*)\]/gu, ".$1").replace(/^\./u, "");
