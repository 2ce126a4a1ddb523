/** The methods of texts that the library lacks or does otherwise than Python. */
import type { Arguments } from "./arguments.ts";
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { formatBraces } from "./format.ts";
import { swapped, TEXT_FORMS } from "./textForms.ts";
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
  // The large form of a letter may be several, as of ß.
  const [large = "", ...more] = first.toUpperCase();
  return large + more.join("").toLowerCase() + text.slice(first.length).toLowerCase();
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

function tabless(text: string, size: number): string {
  let column = 0;
  let made = "";
  for (const character of text) {
    const isTab = character === "\t";
    const step = isTab ? (size === 0 ? 0 : size - (column % size)) : 1;
    made += isTab ? " ".repeat(step) : character;
    column = character === "\n" || character === "\r" ? 0 : column + step;
  }
  return made;
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

/** The part of a text from one place to another, in characters as Python counts them. */
function region(text: string, start: number | undefined, end: number | undefined): string | undefined {
  if (start === undefined && end === undefined) return text;
  const characters = Array.from(text);
  const place = (at: number): number => Math.max(0, at < 0 ? at + characters.length : at);
  const from = place(start ?? 0);
  if (from > characters.length) return undefined;
  return characters.slice(from, Math.max(from, end === undefined ? characters.length : place(end))).join("");
}

const bound = (args: Arguments, value: RuntimeValue | undefined): number | undefined =>
  value === undefined || value.type === "NullValue" ? undefined : args.whole(value, 0);

/** Where a part is; -1 where it is not, or with `refuses` an error. */
const find =
  (last: boolean, refuses = false): TextMethod =>
  (text, args, budget) => {
    const { sub, start, end } = args.matched("sub", "start", "end");
    const part = args.requiredText(sub);
    budget.search(text, part);
    const from = bound(args, start);
    const searched = region(text, from, bound(args, end));
    const at = searched === undefined ? -1 : last ? searched.lastIndexOf(part) : searched.indexOf(part);
    if (at < 0 && refuses) throw templateError(`${args.name} of a text that is not there`);
    if (at < 0) return numberValue(-1, false);
    const skipped = from === undefined ? 0 : Math.max(0, from < 0 ? from + textLength(text) : from);
    return numberValue(skipped + textLength((searched ?? "").slice(0, at)), false);
  };

/** Whether a text begins or ends with a part, or with one of several. */
const edge =
  (isPart: (text: string, part: string) => boolean): TextMethod =>
  (text, args, budget) => {
    const { prefix, start, end } = args.matched("prefix", "start", "end");
    const parts = prefix?.type === "TupleValue" ? elements(prefix) : [prefix];
    const searched = region(text, bound(args, start), bound(args, end));
    return truthValue(
      parts.some((part) => {
        const sought = args.requiredText(part);
        budget.spend(1 + sought.length / 32);
        return searched !== undefined && isPart(searched, sought);
      }),
    );
  };

/** The first `most` of the places, all where it is below 0; the size of the result is asked for before it is made. */
export function replaced(text: string, old: string, other: string, most: number, budget: TemplateBudget): string {
  budget.search(text, old);
  budget.spend(text.length / 8);
  const count = Math.min(most < 0 ? Infinity : most, occurrences(text, old));
  budget.text(text.length + count * Math.max(0, other.length));
  if (most < 0 && old !== "") return text.replaceAll(old, () => other);
  if (old === "") {
    budget.items(Math.min(count, text.length + 1));
    const characters = Array.from(text);
    return [...characters, ""].map((character, i) => (i < count ? other : "") + character).join("");
  }
  const parts = splitLeft(text, old, most);
  return parts.join(other);
}

export function centered(text: string, width: number, fill: string, budget: TemplateBudget): string {
  budget.text(Math.max(0, width));
  const missing = Math.max(0, width - textLength(text));
  // Python puts the odd one to the left where the width is odd.
  const left = Math.floor(missing / 2) + (missing & width & 1);
  return fill.repeat(left) + text + fill.repeat(missing - left);
}

/** Takes no arguments. `characters`: for a unit of work. */
const changed =
  (change: (text: string) => string, characters = 16): TextMethod =>
  (text, args, budget) => {
    args.matched();
    budget.spend(text.length / characters);
    return textValue(change(text));
  };

export const TEXT_METHODS: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  ...TEXT_FORMS,
  ["strip", strip("both")],
  ["lstrip", strip("left")],
  ["rstrip", strip("right")],
  ["capitalize", changed(capitalized)],
  ["title", changed((text) => text.replace(/\p{Cased}+/gu, (word) => capitalized(word)), WORD_WORK)],
  ["find", find(false)],
  ["rfind", find(true)],
  ["index", find(false, true)],
  ["rindex", find(true, true)],
  ["startswith", edge((text, part) => text.startsWith(part))],
  ["endswith", edge((text, part) => text.endsWith(part))],
  [
    "count",
    (text, args, budget) => {
      const { sub, start, end } = args.matched("sub", "start", "end");
      const part = args.requiredText(sub);
      budget.search(text, part);
      const searched = region(text, bound(args, start), bound(args, end));
      return numberValue(searched === undefined ? 0 : occurrences(searched, part), false);
    },
  ],
  [
    "replace",
    (text, args, budget) => {
      const { old, new: other, count } = args.matched("old", "new", "count");
      return textValue(replaced(text, args.requiredText(old), args.requiredText(other), args.whole(count, -1), budget));
    },
  ],
  [
    "center",
    (text, args, budget) => {
      const { width, fillchar } = args.matched("width", "fillchar");
      const fill = args.text(fillchar) ?? " ";
      if (textLength(fill) !== 1) throw templateError("center is given a text, expected one character");
      return textValue(centered(text, args.requiredWhole(width), fill, budget));
    },
  ],
  [
    "expandtabs",
    (text, args, budget) => {
      const size = args.whole(args.matched("tabsize").tabsize, 8);
      budget.text(text.length + occurrences(text, "\t") * Math.max(0, size));
      return textValue(tabless(text, Math.max(0, size)));
    },
  ],
  ["casefold", changed((text) => text.toLowerCase().replaceAll("ß", "ss"))],
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
  ["swapcase", changed(swapped, WORD_WORK)],
  ["upper", changed((text) => text.toUpperCase())],
  ["lower", changed((text) => text.toLowerCase())],
]);
