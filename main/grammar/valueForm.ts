/**
 * How the values of a schema are written: as JSON, as a bare text, as Python or as Gemma writes
 * them. Each form takes a list of marks that must not stand in its texts, for readers that find
 * marks anywhere.
 */
import { characters, literal, one } from "./elements.ts";
import type { Element, Range, RuleBuilder, Sequence } from "./rules.ts";
import { inverted, joined } from "./rules.ts";
import type { Letters, TextBounds } from "./textWithout.ts";
import { textWithout, UNBOUNDED, without } from "./textWithout.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Single characters for patterns: those that stand for themselves, and how others are written. */
export interface PatternLetters {
  readonly plain: readonly Range[];
  readonly escaped: readonly (readonly [character: string, written: string])[];
}

export interface ValueForm {
  /** Before and behind a text. */
  readonly quote: Sequence;
  readonly comma: Sequence;
  /** Between brackets and what they hold. */
  readonly inside: Sequence;
  readonly text: (bounds: TextBounds) => Sequence;
  readonly letters: PatternLetters;
  /** A text that is known, without its quotes; undefined where this form cannot write it. */
  readonly known: (text: string) => Sequence | undefined;
  /** A name with what stands between it and its value; undefined where this form cannot write it. */
  readonly key: (name: string) => Sequence | undefined;
  readonly anyKey: () => Sequence;
  readonly words: { readonly true: string; readonly false: string; readonly null: string };
  /** A whole value that is known, where it is not put together from its parts. */
  readonly constant?: (value: Json) => Sequence;
  /** Texts only. */
  readonly isBare: boolean;
}

const CONTROLS: readonly Range[] = [
  [0, 0x1f],
  [0x7f, 0x7f],
];
const SURROGATES: Range = [0xd800, 0xdfff];
const JSON_PLAIN = inverted([...CONTROLS, one('"'), one("\\"), SURROGATES]);
const JSON_ESCAPES: readonly (readonly [character: string, written: string])[] = [
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\b", "\\b"],
  ["\t", "\\t"],
  ["\n", "\\n"],
  ["\f", "\\f"],
  ["\r", "\\r"],
];
const JSON_WORDS = { true: "true", false: "false", null: "null" } as const;
const PYTHON_WORDS = { true: "True", false: "False", null: "None" } as const;

/** Texts of the same bounds are written once for all their places. */
function kept(write: (bounds: TextBounds) => Sequence): (bounds: TextBounds) => Sequence {
  const known = new Map<string, Sequence>();
  return (bounds) => {
    const key = `${bounds.least} ${bounds.most}`;
    const written = known.get(key) ?? write(bounds);
    known.set(key, written);
    return written;
  };
}

const keptTexts = (
  marks: readonly string[],
  letters: Letters,
  builder: RuleBuilder,
): ((bounds: TextBounds) => Sequence) => kept((bounds) => textWithout(marks, letters, bounds, builder));

const firstsOf = (marks: readonly string[]): readonly string[] => [...new Set(marks.map((mark) => mark[0] ?? ""))];

export function jsonForm(builder: RuleBuilder, marks: readonly string[] = []): ValueForm {
  const quote = literal('"');
  const singles = Array.from('"\\/bfnrt', one).sort((a, b) => a[0] - b[0]);
  const escape = [...literal("\\"), characters(...singles)];
  // One rule for a letter keeps the grammar of a plain schema small.
  const text =
    marks.length === 0
      ? plainJsonText(builder, escape)
      : keptTexts(marks, { plain: JSON_PLAIN, escapes: [escape] }, builder);
  const firsts = firstsOf(marks);
  /** A mark can only stand in a text of the JSON, where its first character may be written as an escape. */
  const written = (value: Json): string =>
    marks.reduce(
      (all, mark) => all.replaceAll(mark, unicodeEscape(mark[0] ?? "") + mark.slice(1)),
      JSON.stringify(value),
    );
  return {
    quote,
    text,
    comma: literal(", "),
    inside: [],
    letters: {
      plain: without(JSON_PLAIN, firsts),
      escaped: [...JSON_ESCAPES, ...firsts.map((character) => [character, unicodeEscape(character)] as const)],
    },
    known: (value) => literal(written(value).slice(1, -1)),
    key: (name) => literal(`${written(name)}: `),
    anyKey: () => [...quote, ...text(UNBOUNDED), ...quote, ...literal(": ")],
    words: JSON_WORDS,
    constant: (value) => literal(written(value)),
    isBare: false,
  };
}

/** A form with other blanks: inside brackets, and behind commas. */
export const spacedForm = (form: ValueForm, inside: Element, behind: Element): ValueForm => ({
  ...form,
  inside: [inside],
  comma: [...literal(","), behind],
});

function plainJsonText(builder: RuleBuilder, escape: Sequence): (bounds: TextBounds) => Sequence {
  let letter: Element | undefined;
  return kept(({ least, most }) => {
    letter ??= builder.rule([[characters(...JSON_PLAIN)], escape]);
    return builder.repeated([letter], least, most);
  });
}

const unicodeEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** No NUL, which is in no text, and no carriage return: readers take it for a part of a line end. */
const BARE_PLAIN = inverted([[0, 0], one("\r"), SURROGATES]);

/** A text as it is. `inner`: a character that it neither begins nor ends with. */
export function bareForm(builder: RuleBuilder, marks: readonly string[], inner?: string): ValueForm {
  return {
    ...rawText(builder, marks, inner),
    quote: [],
    comma: [],
    inside: [],
    key: () => undefined,
    anyKey: () => [],
    words: JSON_WORDS,
    isBare: true,
  };
}

function rawText(
  builder: RuleBuilder,
  marks: readonly string[],
  inner?: string,
): Pick<ValueForm, "text" | "letters" | "known"> {
  const inners = inner === undefined ? [] : [inner];
  const isWritable = (value: string): boolean =>
    !marks.some((mark) => value.includes(mark)) &&
    !inners.some((each) => value.startsWith(each) || value.endsWith(each)) &&
    Array.from(value).every((each) => isIn(BARE_PLAIN, each));
  return {
    text: keptTexts(marks, { plain: BARE_PLAIN, escapes: [], ...(inner === undefined ? {} : { inner }) }, builder),
    letters: { plain: without(BARE_PLAIN, [...firstsOf(marks), ...inners]), escaped: [] },
    known: (value) => (isWritable(value) ? literal(value) : undefined),
  };
}

const isIn = (ranges: readonly Range[], character: string): boolean => {
  const point = character.codePointAt(0) ?? 0;
  return ranges.some(([first, last]) => first <= point && point <= last);
};

export const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/u;

/** `{name:<|"|>text<|"|>,other:[1,2]}`. */
export function gemmaForm(builder: RuleBuilder, quote: Sequence, marks: readonly string[]): ValueForm {
  const letters = (...more: readonly Range[]): Element =>
    characters(...joined([[0x41, 0x5a], one("_"), [0x61, 0x7a], ...more]));
  const anyName = [letters(), ...builder.repeated([letters([0x30, 0x39])], 0, Infinity)];
  return {
    ...rawText(builder, marks),
    quote,
    comma: literal(","),
    inside: [],
    key: (name) => (PLAIN_NAME.test(name) ? literal(`${name}:`) : undefined),
    anyKey: () => [...anyName, ...literal(":")],
    words: JSON_WORDS,
    isBare: false,
  };
}

const PYTHON_PLAIN = inverted([[0, 0], one("\n"), one("\r"), one('"'), one("\\"), SURROGATES]);
const PYTHON_ESCAPES: readonly (readonly [character: string, written: string])[] = [
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\t", "\\t"],
  ["\n", "\\n"],
];

export function pythonForm(builder: RuleBuilder): ValueForm {
  const quote = literal('"');
  const text = keptTexts([], { plain: PYTHON_PLAIN, escapes: PYTHON_ESCAPES.map(([, to]) => literal(to)) }, builder);
  const escapes = new Map(PYTHON_ESCAPES);
  const known = (value: string): Sequence | undefined => {
    const all = Array.from(value);
    return all.every((each) => escapes.has(each) || isIn(PYTHON_PLAIN, each))
      ? literal(all.map((each) => escapes.get(each) ?? each).join(""))
      : undefined;
  };
  return {
    quote,
    text,
    comma: literal(", "),
    inside: [],
    letters: { plain: PYTHON_PLAIN, escaped: PYTHON_ESCAPES },
    known,
    key: (name) => {
      const written = known(name);
      return written === undefined ? undefined : [...quote, ...written, ...quote, ...literal(": ")];
    },
    anyKey: () => [...quote, ...text(UNBOUNDED), ...quote, ...literal(": ")],
    words: PYTHON_WORDS,
    isBare: false,
  };
}
