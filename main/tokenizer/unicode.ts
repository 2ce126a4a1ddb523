/**
 * Text as the pre-tokenizers see it: one UTF-16 unit per code point, so that positions mean the same in every form.
 * `folded` keeps ASCII and replaces each other code point by a sign for its class (letter, number,
 * …, white space as vertical tab), so that plain regular expressions can speak of classes. `plain`
 * keeps the code points of the basic plane, white space aside. Beyond the basic plane one stand-in
 * marks letters with case; another marks everything else.
 * The tables are our own: what an engine takes for a letter depends on its version.
 */
import { UNICODE_RUNS } from "./unicodeTables.ts";

/** Signs of the folded text, from the private use area. They stand inside regular expressions in pretokenizers.ts. */
export const SIGN = {
  other: "\ue000",
  letter: "\ue001",
  /** A letter that is a Chinese character, and a code point among those that is no letter. */
  han: "\ue006",
  hanOther: "\ue007",
  number: "\ue002",
  punctuation: "\ue003",
  mark: "\ue004",
  symbol: "\ue005",
  control: "\ue008",
  space: "\v",
} as const;

/** U+0100, a letter with case that is in no other class. */
const CASED = "\u0100";
/** U+0378, which no pattern names. */
const UNNAMED = "\u0378";
const CASED_BEYOND = [
  [0x10400, 0x1044f],
  [0x104b0, 0x104d3],
  [0x104d8, 0x104fb],
  [0x10c80, 0x10cb2],
  [0x10cc0, 0x10cf2],
  [0x118a0, 0x118df],
  [0x1e900, 0x1e943],
] as const;
const HAN = [
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xf900, 0xfaff],
  [0x20000, 0x2a6df],
  [0x2a700, 0x2ebef],
  [0x2f800, 0x2fa1f],
] as const;
const WHITE_SPACE = [0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000];

let table: Uint16Array | undefined;

/** The folded unit of every code point. */
function foldTable(): Uint16Array {
  if (table !== undefined) return table;
  const made = new Uint16Array(0x110000).fill(SIGN.other.charCodeAt(0));
  for (const name of ["letter", "number", "punctuation", "mark", "symbol", "control"] as const) {
    const sign = SIGN[name].charCodeAt(0);
    const numbers = UNICODE_RUNS[name].trim().split(" ");
    for (let i = 0, at = 0; i + 1 < numbers.length; i += 2) {
      const start = at + Number.parseInt(numbers[i] ?? "", 36);
      at = start + Number.parseInt(numbers[i + 1] ?? "", 36);
      made.fill(sign, start, at);
    }
  }
  const letter = SIGN.letter.charCodeAt(0);
  for (const [first, last] of HAN)
    for (let point = first; point <= last; point++)
      made[point] = (made[point] === letter ? SIGN.han : SIGN.hanOther).charCodeAt(0);
  for (const point of WHITE_SPACE) made[point] = SIGN.space.charCodeAt(0);
  made.fill(SIGN.space.charCodeAt(0), 0x2000, 0x200b);
  for (let ascii = 0; ascii < 128; ascii++) made[ascii] = ascii;
  table = made;
  return made;
}

export interface Units {
  readonly folded: string;
  readonly plain: string;
  /** UTF-16 position of each unit in the original text, and its end; undefined when they are the same. */
  readonly positions: Int32Array | undefined;
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false;
  return true;
}

export function unitsOf(text: string): Units {
  if (isAscii(text)) return { folded: text, plain: text, positions: undefined };
  const fold = foldTable();
  const space = SIGN.space.charCodeAt(0);
  const folded = new Uint16Array(text.length);
  const plain = new Uint16Array(text.length);
  const positions = new Int32Array(text.length + 1);
  let count = 0;
  for (let at = 0; at < text.length;) {
    const point = text.codePointAt(at) ?? 0;
    // A lone surrogate becomes U+FFFD when it is encoded: a symbol.
    const lone = point >= 0xd800 && point <= 0xdfff;
    const sign = fold[lone ? 0xfffd : point] ?? 0;
    folded[count] = sign;
    plain[count] = sign === space ? space : point > 0xffff || lone ? beyond(point) : point;
    positions[count] = at;
    at += point > 0xffff ? 2 : 1;
    count += 1;
  }
  positions[count] = text.length;
  return {
    folded: stringOf(folded.subarray(0, count)),
    plain: stringOf(plain.subarray(0, count)),
    positions: count === text.length ? undefined : positions.subarray(0, count + 1),
  };
}

const beyond = (point: number): number =>
  (CASED_BEYOND.some(([first, last]) => point >= first && point <= last) ? CASED : UNNAMED).charCodeAt(0);

const decoder = new TextDecoder("utf-16le", { ignoreBOM: true });
function stringOf(units: Uint16Array): string {
  // No surrogates are among them, so nothing is replaced.
  return decoder.decode(units);
}

/** The words between white space of any kind. */
export function wordsOf(text: string): readonly string[] {
  return text
    .split(/[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u)
    .filter((word) => word !== "");
}

const REPLACEMENT = "\ufffd";

/** One code point at a time; half a surrogate pair is U+FFFD, as it is when it is encoded. */
export function* charactersOf(text: string): Generator<string> {
  for (const char of text) yield char >= "\ud800" && char <= "\udfff" && char.length === 1 ? REPLACEMENT : char;
}

const ASCII_SIGNS: readonly (readonly [RegExp, string])[] = [
  [/[\t-\r ]/u, SIGN.space],
  [/[\0-\u001f\u007f]/u, SIGN.control],
  [/[$+<=>^`|~]/u, SIGN.symbol],
  [/[A-Za-z]/u, SIGN.letter],
  [/[0-9]/u, SIGN.number],
];

/** The sign for the class of a character; ASCII has one here too. */
export function signOf(char: string): string {
  const point = char.codePointAt(0) ?? 0;
  return point < 128 ? (asciiSigns[point] ?? SIGN.other) : String.fromCharCode(foldTable()[point] ?? 0);
}
const asciiSigns = Array.from({ length: 128 }, (_, point) => {
  const found = ASCII_SIGNS.find(([members]) => members.test(String.fromCharCode(point)));
  return found === undefined ? SIGN.punctuation : found[1];
});

/** Each letter by itself, whatever stands around it. */
export const lowerCase = (text: string): string =>
  Array.from(text, (char) => (isAssigned(char) ? firstOf(char.toLowerCase()) : char)).join("");

/** The letter under an accent; the first part of any character that has parts. */
export const baseOf = (char: string): string => (isAssigned(char) ? firstOf(char.normalize("NFD")) : char);

/** What Unicode 15.1 does not have stays as it is: what an engine knows depends on its version. */
const isAssigned = (char: string): boolean => signOf(char) !== SIGN.other;

function firstOf(text: string): string {
  const [first = ""] = text;
  return first;
}
