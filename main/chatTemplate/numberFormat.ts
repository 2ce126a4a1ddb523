/** Numbers and texts laid out by Python's format descriptions: sign, width, fill, groups, decimals. */
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { isUndefined, kindOf, numberOf, numberText, textLength, textOf } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

const MOST_DECIMALS = 60;

/** Formats with fixed decimals; ties round to even (JavaScript rounds up). */
export function fixed(number: number, decimals: number): string {
  const size = Math.abs(number);
  if (decimals > MOST_DECIMALS || size >= 1e21) throw templateError("a number with so many digits is not supported");
  const exact = size.toFixed(Math.min(100, decimals + 40));
  const point = exact.indexOf(".");
  const cut = decimals === 0 ? exact.slice(0, point) : exact.slice(0, point + 1 + decimals);
  const isMiddle = /^50*$/u.test(exact.slice(point + 1 + decimals));
  const rounded = isMiddle && /[02468]$/u.test(cut) ? cut : size.toFixed(decimals);
  return `${number < 0 || Object.is(number, -0) ? "-" : ""}${rounded}`;
}

/** One digit, decimals, and a power of ten: 1.50e+01. */
function scientific(size: number, decimals: number): string {
  if (decimals > MOST_DECIMALS) throw templateError("a number with so many digits is not supported");
  const [exact = "", power = "0"] = size.toExponential(Math.min(100, decimals + 40)).split("e");
  const isMiddle = /^50*$/u.test(exact.slice(2 + decimals));
  const cut = decimals === 0 ? exact.slice(0, 1) : exact.slice(0, 2 + decimals);
  const [digits = "", newPower = "0"] =
    isMiddle && /[02468]$/u.test(cut) ? [cut, power] : size.toExponential(decimals).split("e");
  const places = Math.abs(Number(newPower)).toString().padStart(2, "0");
  return `${digits}e${Number(newPower) < 0 ? "-" : "+"}${places}`;
}

function general(size: number, precision: number, keepsZeros: boolean): string {
  const digits = Math.max(1, precision);
  const power = size === 0 ? 0 : Number(scientific(size, digits - 1).split("e")[1]);
  const text = power < -4 || power >= digits ? scientific(size, digits - 1) : fixed(size, digits - 1 - power);
  if (keepsZeros || !text.includes(".")) return text;
  return text.replace(/\.?0+(?=e|$)/u, "");
}

interface Layout {
  readonly fill: string;
  readonly align: string;
  readonly sign: string;
  readonly isAlternate: boolean;
  readonly width: number;
  readonly group: string;
  readonly precision: number | undefined;
  readonly letter: string;
}

const DESCRIPTION = /^(?:([\s\S])?([<>=^]))?([-+ ]?)(#?)(0?)(\d*)([,_]?)(?:\.(\d+))?([a-zA-Z%]?)$/u;

/** As `format(value, description)`. */
export function formatted(value: RuntimeValue, description: string, budget: TemplateBudget): string {
  if (description === "") return textOf(value, budget);
  const match = DESCRIPTION.exec(description);
  if (match === null) throw templateError(`the format ${JSON.stringify(description.slice(0, 50))} is not supported`);
  const [, fill, align, sign = "", alternate = "", zero = "", width = "", group = "", precision, letter = ""] = match;
  const isNumber = typeof value.value === "number" || (typeof value.value === "boolean" && !"s".includes(letter));
  const layout: Layout = {
    fill: fill ?? (zero === "" ? " " : "0"),
    align: align ?? (isNumber ? (zero === "" ? ">" : "=") : "<"),
    sign,
    isAlternate: alternate !== "",
    width: Number(width),
    group,
    precision: precision === undefined ? undefined : Number(precision),
    letter,
  };
  budget.text(layout.width);
  if (isNumber) return numberIn(value, layout);
  if (typeof value.value !== "string" || !["", "s"].includes(letter) || layout.align === "=" || sign + group !== "")
    throw templateError(`${kindOf(value)} is given the format ${JSON.stringify(description.slice(0, 50))}`);
  return filled("", firstCharacters(value.value, layout.precision), layout);
}

export const firstCharacters = (text: string, count: number | undefined): string =>
  count === undefined
    ? text
    : Array.from(text.slice(0, 2 * count))
        .slice(0, count)
        .join("");

const BASES: Readonly<Record<string, readonly [base: number, prefix: string]>> = {
  b: [2, "0b"],
  o: [8, "0o"],
  x: [16, "0x"],
  X: [16, "0X"],
};

/** A number by its letter, with sign, groups and fill. */
export function numberIn(value: RuntimeValue, layout: Layout): string {
  const { letter, sign, isAlternate, precision } = layout;
  const number = numberOf(value);
  if (number === undefined || isUndefined(value)) throw templateError(`${kindOf(value)} is formatted as a number`);
  const isNegative = number < 0 || Object.is(number, -0);
  const mark = isNegative ? "-" : sign === "-" ? "" : sign;
  const base = BASES[letter];
  const digits =
    base === undefined
      ? decimal(value, Math.abs(number), layout)
      : wholeDigits(value, number, layout).toString(base[0]);
  const prefix = base !== undefined && isAlternate ? base[1] : "";
  if (base !== undefined && precision !== undefined) throw templateError("whole numbers have no decimals");
  const text = /[A-Z]/u.test(letter) ? digits.toUpperCase() : digits;
  return filled(mark + prefix, grouped(text, layout.group, base === undefined ? 3 : 4), layout);
}

function wholeDigits(value: RuntimeValue, number: number, { letter }: Layout): number {
  if (value.type === "FloatValue" || !Number.isSafeInteger(number))
    throw templateError(`${kindOf(value)} is given the format ${letter}`);
  return Math.abs(number);
}

function decimal(value: RuntimeValue, size: number, layout: Layout): string {
  const { letter, precision, isAlternate } = layout;
  const kind = letter.toLowerCase();
  if (kind === "d" || kind === "n" || (kind === "" && value.type !== "FloatValue")) {
    if (precision !== undefined) throw templateError("whole numbers have no decimals");
    return String(wholeDigits(value, size, layout));
  }
  if (!Number.isFinite(size)) return Number.isNaN(size) ? "nan" : "inf";
  if (kind === "f") return fixed(size, precision ?? 6);
  if (kind === "%") return `${fixed(size * 100, precision ?? 6)}%`;
  if (kind === "e") return scientific(size, precision ?? 6);
  if (kind === "g") return general(size, precision ?? 6, isAlternate);
  if (kind === "" && precision === undefined) return numberText(value).replace(/^-/u, "");
  throw templateError(`the number format ${letter} is not supported`);
}

function grouped(text: string, sign: string, size: number): string {
  if (sign === "") return text;
  const [whole = "", ...rest] = text.split(/(?=[.e%])/u);
  const first = whole.length % size;
  const groups = [whole.slice(0, first), ...(whole.slice(first).match(new RegExp(`.{${size}}`, "gu")) ?? [])];
  return groups.filter((group) => group !== "").join(sign) + rest.join("");
}

function filled(mark: string, text: string, { fill, align, width }: Layout): string {
  const missing = Math.max(0, width - textLength(mark + text));
  if (align === "=") return mark + fill.repeat(missing) + text;
  const left = align === ">" ? missing : align === "^" ? Math.floor(missing / 2) : 0;
  return fill.repeat(left) + mark + text + fill.repeat(missing - left);
}
