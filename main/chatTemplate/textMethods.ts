/** The methods of texts that the library lacks or does otherwise than Python. */
import type { Arguments } from "./arguments.ts";
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { formatBraces } from "./format.ts";
import { TEXT_FORMS } from "./textForms.ts";
import { elements, listValue, numberValue, textLength, textValue, truthValue } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

type TextMethod = (text: string, args: Arguments, budget: TemplateBudget) => RuntimeValue;

/** What Python takes for white space, which is not quite what JavaScript does. */
const BLANK = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const BLANKS = new RegExp(`[${BLANK}]`, "u");
export const isBlank = (character: string): boolean => BLANKS.test(character);
const WORDS = new RegExp(`[^${BLANK}]+`, "gu");
const LINE = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/gu; // eslint-disable-line no-control-regex -- Python's line ends

/** Takes a set of characters off the ends; white space where none is given. */
export function stripped(text: string, characters: string | undefined, ends: "left" | "right" | "both"): string {
  const set = new Set(characters ?? "");
  const takes = (character: string): boolean => (characters === undefined ? isBlank(character) : set.has(character));
  let start = 0;
  let end = text.length;
  while (ends !== "right" && start < end) {
    const character = String.fromCodePoint(text.codePointAt(start) ?? 0);
    if (!takes(character)) break;
    start += character.length;
  }
  while (ends !== "left" && end > start) {
    const pair = /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(start, end - 2), end));
    const character = text.slice(end - (pair ? 2 : 1), end);
    if (!takes(character)) break;
    end -= character.length;
  }
  return text.slice(start, end);
}

const strip =
  (ends: "left" | "right" | "both"): TextMethod =>
  (text, args, budget) => {
    const characters = args.text(args.matched("chars").chars);
    // Each character that is taken off is looked up, and a set of them is made first.
    budget.spend(text.length / 8 + (characters?.length ?? 0) / 4);
    return textValue(stripped(text, characters, ends));
  };

/** Characters for a unit of work where each may be a word by itself, with the space behind it. */
export const WORD_WORK = 2;

export const capitalized = (text: string): string => {
  const [first = ""] = text;
  return first.toUpperCase() + text.slice(first.length).toLowerCase();
};

/** Found from the right; texts that overlap are the reason that this is not splitting from the left. */
function splitRight(text: string, separator: string, most: number): string[] {
  const parts: string[] = [];
  let end = text.length;
  while (most < 0 || parts.length < most) {
    const at = end < separator.length ? -1 : text.lastIndexOf(separator, end - separator.length);
    if (at < 0) break;
    parts.push(text.slice(at + separator.length, end));
    end = at;
  }
  return [...parts, text.slice(0, end)].reverse();
}

function splitLeft(text: string, separator: string, most: number): string[] {
  const parts = text.split(separator);
  return most < 0 || parts.length <= most + 1 ? parts : [...parts.slice(0, most), parts.slice(most).join(separator)];
}

function splitWords(text: string, most: number): string[] {
  const words = [...text.matchAll(WORDS)];
  if (most < 0 || words.length <= most) return words.map(([word]) => word);
  return [...words.slice(0, most).map(([word]) => word), text.slice(words[most]?.index ?? text.length)];
}

function splitWordsRight(text: string, most: number): string[] {
  const words = [...text.matchAll(WORDS)];
  if (most < 0 || words.length <= most) return words.map(([word]) => word);
  const last = words[words.length - most - 1];
  const rest = last === undefined ? [] : [text.slice(0, last.index + last[0].length)];
  return [...rest, ...words.slice(words.length - most).map(([word]) => word)];
}

export function lines(text: string, keepEnds: boolean): string[] {
  const found: string[] = [];
  let start = 0;
  for (const { 0: end, index } of text.matchAll(LINE)) {
    found.push(text.slice(start, keepEnds ? index + end.length : index));
    start = index + end.length;
  }
  return start < text.length ? [...found, text.slice(start)] : found;
}

function occurrences(text: string, part: string): number {
  if (part === "") return textLength(text) + 1;
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
}

/** Of what is split, before the parts are made. */
function payParts(text: string, separator: RegExp | string, budget: TemplateBudget): void {
  if (typeof separator === "string") budget.search(text, separator);
  let count = 1;
  if (typeof separator === "string") count += occurrences(text, separator);
  else for (const _ of text.matchAll(separator)) if (++count > budget.limits.items) break;
  budget.items(count);
  budget.spend(text.length / 8);
}

const find =
  (last: boolean): TextMethod =>
  (text, args, budget) => {
    const part = args.requiredText(args.matched("sub").sub);
    budget.search(text, part);
    const at = last ? text.lastIndexOf(part) : text.indexOf(part);
    return numberValue(at < 0 ? -1 : textLength(text.slice(0, at)), false);
  };

export const TEXT_METHODS: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  ...TEXT_FORMS,
  ["strip", strip("both")],
  ["lstrip", strip("left")],
  ["rstrip", strip("right")],
  ["capitalize", (text) => textValue(capitalized(text))],
  [
    "title",
    (text, _, budget) => {
      budget.spend(text.length / WORD_WORK);
      return textValue(text.replace(/\p{Cased}+/gu, (word) => capitalized(word)));
    },
  ],
  ["find", find(false)],
  ["rfind", find(true)],
  [
    "count",
    (text, args, budget) => {
      const part = args.requiredText(args.matched("sub").sub);
      budget.search(text, part);
      return numberValue(occurrences(text, part), false);
    },
  ],
  [
    "join",
    (text, args, budget) => {
      const { iterable } = args.matched("iterable");
      if (iterable === undefined) throw templateError("join is given nothing to join");
      const parts = elements(iterable, budget).map((part) => args.requiredText(part));
      budget.text(parts.reduce((sum, part) => sum + part.length + text.length, 0));
      return textValue(parts.join(text));
    },
  ],
  ["format", (text, args, budget) => textValue(formatBraces(text, args, budget))],
  [
    "split",
    (text, args, budget) => {
      const { sep, maxsplit } = args.matched("sep", "maxsplit");
      const separator = args.text(sep);
      if (separator === "") throw templateError("split is given an empty separator");
      const most = args.whole(maxsplit, -1);
      payParts(text, separator ?? WORDS, budget);
      const parts = separator === undefined ? splitWords(text, most) : splitLeft(text, separator, most);
      return listValue(parts.map(textValue));
    },
  ],
  [
    "rsplit",
    (text, args, budget) => {
      const { sep, maxsplit } = args.matched("sep", "maxsplit");
      const separator = args.text(sep);
      if (separator === "") throw templateError("rsplit is given an empty separator");
      const most = args.whole(maxsplit, -1);
      payParts(text, separator ?? WORDS, budget);
      const parts = separator === undefined ? splitWordsRight(text, most) : splitRight(text, separator, most);
      return listValue(parts.map(textValue));
    },
  ],
  [
    "splitlines",
    (text, args, budget) => {
      payParts(text, LINE, budget);
      return listValue(lines(text, args.flag(args.matched("keepends").keepends)).map(textValue));
    },
  ],
  [
    "removeprefix",
    (text, args) => {
      const prefix = args.requiredText(args.matched("prefix").prefix);
      return textValue(text.startsWith(prefix) ? text.slice(prefix.length) : text);
    },
  ],
  [
    "removesuffix",
    (text, args) => {
      const suffix = args.requiredText(args.matched("suffix").suffix);
      return textValue(text.endsWith(suffix) ? text.slice(0, text.length - suffix.length) : text);
    },
  ],
  ["upper", (text) => textValue(text.toUpperCase())],
  ["lower", (text) => textValue(text.toLowerCase())],
  ["isdigit", (text) => truthValue(/^[\p{Nd}²³¹⁰⁴-⁹₀-₉]+$/u.test(text))],
]);
