/** Methods of texts that ask what they consist of, fill them up, or cut them at one place. */
import type { Arguments } from "./arguments.ts";
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { textLength, textValue, truthValue, tupleValue } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

type TextMethod = (text: string, args: Arguments, budget: TemplateBudget) => RuntimeValue;

const consistsOf =
  (pattern: RegExp): TextMethod =>
  (text, args, budget) => {
    args.matched();
    budget.spend(text.length / 16);
    return truthValue(pattern.test(text));
  };

const asks =
  (holds: (text: string) => boolean): TextMethod =>
  (text, args, budget) => {
    args.matched();
    budget.spend(text.length / 16);
    return truthValue(holds(text));
  };

/** Some letters, and all of one kind. */
export const isLower = (text: string): boolean => /\p{Ll}/u.test(text) && !/[\p{Lu}\p{Lt}]/u.test(text);
export const isUpper = (text: string): boolean => /\p{Lu}/u.test(text) && !/[\p{Ll}\p{Lt}]/u.test(text);

const filled =
  (side: "left" | "right"): TextMethod =>
  (text, args, budget) => {
    const { width, fillchar } = args.matched("width", "fillchar");
    const fill = args.text(fillchar) ?? " ";
    const columns = args.requiredWhole(width);
    if (textLength(fill) !== 1) throw templateError(`${args.name} is given a text, expected one character`);
    budget.text(columns);
    const missing = fill.repeat(Math.max(0, columns - textLength(text)));
    return textValue(side === "left" ? missing + text : text + missing);
  };

const zeros: TextMethod = (text, args, budget) => {
  const columns = args.requiredWhole(args.matched("width").width);
  budget.text(columns);
  const missing = "0".repeat(Math.max(0, columns - textLength(text)));
  return textValue(/^[+-]/u.test(text) ? `${text.slice(0, 1)}${missing}${text.slice(1)}` : missing + text);
};

/** Before, the place, and behind; where it is not found, the text stands alone. */
const partition =
  (last: boolean): TextMethod =>
  (text, args, budget) => {
    const part = args.requiredText(args.matched("sep").sep);
    if (part === "") throw templateError(`${args.name} is given an empty separator`);
    budget.search(text, part);
    const at = last ? text.lastIndexOf(part) : text.indexOf(part);
    const parts =
      at >= 0 ? [text.slice(0, at), part, text.slice(at + part.length)] : last ? ["", "", text] : [text, "", ""];
    return tupleValue(parts.map(textValue));
  };

export const swapped = (text: string): string =>
  text.replace(/\p{Cased}/gu, (letter) =>
    letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase(),
  );

export const TEXT_FORMS: readonly (readonly [string, TextMethod])[] = [
  ["isalpha", consistsOf(/^\p{L}+$/u)],
  ["isalnum", consistsOf(/^[\p{L}\p{N}]+$/u)],
  ["isnumeric", consistsOf(/^\p{N}+$/u)],
  ["isdigit", consistsOf(/^[\p{Nd}²³¹⁰⁴-⁹₀-₉]+$/u)],
  ["isdecimal", consistsOf(/^\p{Nd}+$/u)],
  ["isspace", consistsOf(/^[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$/u)], // eslint-disable-line no-control-regex -- Python's white space
  ["islower", asks(isLower)],
  ["isupper", asks(isUpper)],
  ["istitle", asks((text) => /\p{Cased}/u.test(text) && !/(?<!\p{Cased})\p{Ll}|\p{Cased}[\p{Lu}\p{Lt}]/u.test(text))],
  ["isascii", asks((text) => /^[\x00-\x7f]*$/u.test(text))], // eslint-disable-line no-control-regex -- ASCII
  ["isprintable", asks((text) => !/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u.test(text))],
  ["isidentifier", consistsOf(/^[\p{XID_Start}_]\p{XID_Continue}*$/u)],
  ["zfill", zeros],
  ["ljust", filled("right")],
  ["rjust", filled("left")],
  ["partition", partition(false)],
  ["rpartition", partition(true)],
];
