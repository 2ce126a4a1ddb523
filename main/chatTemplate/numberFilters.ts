/** Filters that make numbers, or texts of numbers. */
import { templateError } from "./budget.ts";
import type { TemplateBudget } from "./budget.ts";
import type { Filter } from "./filter.ts";
import { fixed } from "./numberFormat.ts";
import { WORD_WORK } from "./textMethods.ts";
import { isUndefined, kindOf, numberOf, numberValue, textOf } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

const round: Filter = (operand, args) => {
  const { precision, method } = args.matched("precision", "method");
  const decimals = args.whole(precision, 0);
  const how = args.text(method) ?? "common";
  const number = numberOf(operand);
  if (number === undefined || !Number.isFinite(number)) throw templateError(`it rounds ${kindOf(operand)}`);
  if (decimals < 0 || decimals > 20 || !["common", "ceil", "floor"].includes(how))
    throw templateError("round with these arguments is not supported");
  if (how === "common") {
    if (operand.type !== "FloatValue") return numberValue(number, false);
    return numberValue(Math.abs(number) >= 1e21 ? number : Number(fixed(number, decimals)), true);
  }
  const scale = 10 ** decimals;
  return numberValue((how === "ceil" ? Math.ceil(number * scale) : Math.floor(number * scale)) / scale, true);
};

/** Each character can be taken in one way only: with two, a long text would take its square in steps. */
const NUMBER = /^\s*[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+)?\s*$/iu;
const WORDS: ReadonlyMap<string, number> = new Map([
  ["inf", Infinity],
  ["infinity", Infinity],
  ["-inf", -Infinity],
  ["nan", NaN],
]);

function parsed(operand: RuntimeValue, budget: TemplateBudget): number | undefined {
  const { value } = operand;
  if (isUndefined(operand)) throw templateError("it makes a number of something undefined");
  if (typeof value !== "string") return numberOf(operand);
  budget.spend(value.length / 16);
  return NUMBER.test(value) ? Number(value.replaceAll("_", "")) : WORDS.get(value.trim().toLowerCase());
}

/** A text that is a number becomes one; what is none becomes the default. */
const float: Filter = (operand, args, { budget }) => {
  const { default: otherwise } = args.matched("default");
  const number = parsed(operand, budget);
  return number === undefined ? (otherwise ?? numberValue(0, true)) : numberValue(number, true);
};

const BASE_PREFIXES: Readonly<Record<number, RegExp>> = { 2: /^0b/iu, 8: /^0o/iu, 16: /^0x/iu };

const whole: Filter = (operand, args, { budget }) => {
  const { default: otherwise, base } = args.matched("default", "base");
  const radix = args.whole(base, 10);
  if (radix < 2 || radix > 36) throw templateError("int is given a base that is not from 2 to 36");
  const inBase = typeof operand.value === "string" && radix !== 10 ? digitsIn(operand.value, radix) : undefined;
  const number = inBase ?? parsed(operand, budget);
  if (number === undefined || !Number.isFinite(number)) return otherwise ?? numberValue(0, false);
  return numberValue(Math.trunc(number) + 0, false);
};

function digitsIn(text: string, radix: number): number | undefined {
  const [, sign = "", rest = ""] = /^\s*([+-]?)(\S*)\s*$/u.exec(text) ?? [];
  const digits = rest.replace(BASE_PREFIXES[radix] ?? "", "");
  const isRight = digits !== "" && Array.from(digits).every((digit) => !Number.isNaN(parseInt(digit, radix)));
  return isRight ? (sign === "-" ? -1 : 1) * parseInt(digits, radix) : undefined;
}

const absolute: Filter = (operand) => {
  const number = numberOf(operand);
  if (number === undefined) throw templateError(`abs of ${kindOf(operand)}`);
  return numberValue(Math.abs(number), operand.type === "FloatValue");
};

export const NUMBER_FILTERS: readonly (readonly [string, Filter])[] = [
  ["round", round],
  ["int", whole],
  ["float", float],
  ["abs", absolute],
  [
    "wordcount",
    (operand, _, { budget }) => {
      const text = textOf(operand, budget);
      budget.spend(text.length / WORD_WORK);
      return numberValue(text.match(/[\p{L}\p{N}_]+/gu)?.length ?? 0, false);
    },
  ],
];
