/**
 * Values that models write in other ways than JSON: Python's literals, and Gemma's with marks in the place of quotation
 * marks. Undefined for what is no such value.
 */
import type { Json } from "../diagnostics/errors.ts";
import type { CallArguments } from "./reply.ts";

export interface LiteralStyle {
  /** What stands before and behind a text, besides quotation marks. */
  readonly quotes: readonly string[];
  /** Between a name and its value. */
  readonly colon: string;
}

export const PYTHON: LiteralStyle = { quotes: [], colon: "=" };
export const GEMMA: LiteralStyle = { quotes: ['<|"|>', "<escape>"], colon: ":" };

const DEEPEST = 64;
const NAME = /[\p{L}_][\p{L}\p{N}_.-]*/uy;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/uy;
const WORDS = new Map<string, Json>([
  ["true", true],
  ["false", false],
  ["null", null],
  ["True", true],
  ["False", false],
  ["None", null],
]);
const ESCAPES = new Map([
  ["\\", "\\"],
  ['"', '"'],
  ["'", "'"],
  ["a", "\x07"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ["\n", ""],
]);
const HEX_DIGITS = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8],
]);
const LAST_CODE_POINT = 0x10ffff;

class NoLiteral extends Error {}

export class LiteralText {
  readonly #text: string;
  readonly #style: LiteralStyle;
  #at = 0;

  constructor(text: string, style: LiteralStyle) {
    this.#text = text;
    this.#style = style;
  }

  /** What `read` gives; undefined where the text has another form. */
  static read<T>(text: string, style: LiteralStyle, read: (source: LiteralText) => T): T | undefined {
    try {
      return read(new LiteralText(text, style));
    } catch (error) {
      if (error instanceof NoLiteral) return undefined;
      throw error;
    }
  }

  get isAtEnd(): boolean {
    this.#skipBlanks();
    return this.#at >= this.#text.length;
  }

  /** True and past it, if it stands here. */
  takes(text: string): boolean {
    this.#skipBlanks();
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  expect(text: string): void {
    if (!this.takes(text)) throw new NoLiteral(text);
  }

  name(): string {
    this.#skipBlanks();
    return this.#matched(NAME) ?? this.#fail();
  }

  /** `name=value, …` up to `close`, which is taken. */
  arguments(close: string, depth = 0): CallArguments {
    const entries: [string, Json][] = [];
    while (!this.takes(close)) {
      if (entries.length > 0) this.expect(",");
      const key = this.#quoted() ?? this.name();
      this.expect(this.#style.colon);
      entries.push([key, this.value(depth + 1)]);
    }
    return Object.fromEntries(entries);
  }

  value(depth = 0): Json {
    if (depth > DEEPEST) return this.#fail();
    this.#skipBlanks();
    const text = this.#quoted();
    if (text !== undefined) return text;
    if (this.takes("[")) return this.#list(depth);
    if (this.takes("{")) return this.#record(depth);
    const number = this.#matched(NUMBER);
    if (number !== undefined) return Number(number);
    const word = WORDS.get(this.name());
    return word === undefined ? this.#fail() : word;
  }

  #list(depth: number): Json {
    const items: Json[] = [];
    while (!this.takes("]")) {
      if (items.length > 0) this.expect(",");
      if (this.takes("]")) break;
      items.push(this.value(depth + 1));
    }
    return items;
  }

  /** A dictionary, whose keys may stand without quotation marks; its colon is one in Python too. */
  #record(depth: number): Json {
    const entries: [string, Json][] = [];
    while (!this.takes("}")) {
      if (entries.length > 0) this.expect(",");
      const key = this.#quoted() ?? this.name();
      this.expect(":");
      entries.push([key, this.value(depth + 1)]);
    }
    return Object.fromEntries(entries);
  }

  #quoted(): string | undefined {
    this.#skipBlanks();
    const mark = this.#style.quotes.find((quote) => this.#text.startsWith(quote, this.#at));
    if (mark !== undefined) {
      const end = this.#text.indexOf(mark, this.#at + mark.length);
      if (end < 0) return this.#fail();
      const inner = this.#text.slice(this.#at + mark.length, end);
      this.#at = end + mark.length;
      return inner;
    }
    const quote = this.#text[this.#at];
    if (quote !== '"' && quote !== "'") return undefined;
    let inner = "";
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const character = this.#text[at] ?? "";
      if (character === quote) {
        this.#at = at + 1;
        return inner;
      }
      const escape = character === "\\" ? this.#escape(at) : undefined;
      at += escape?.skipped ?? 0;
      inner += escape?.text ?? character;
    }
    return this.#fail();
  }

  /** The backslash at this place, as Python reads it: what is no escape keeps its backslash. */
  #escape(at: number): { readonly text: string; readonly skipped: number } {
    const letter = this.#text[at + 1] ?? "";
    const digits = HEX_DIGITS.get(letter);
    if (digits !== undefined) {
      const code = this.#text.slice(at + 2, at + 2 + digits);
      const value = /^[\da-fA-F]+$/u.test(code) && code.length === digits ? parseInt(code, 16) : Infinity;
      if (value > LAST_CODE_POINT) return this.#fail();
      return { text: String.fromCodePoint(value), skipped: 1 + digits };
    }
    return { text: ESCAPES.get(letter) ?? `\\${letter}`, skipped: 1 };
  }

  #matched(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #skipBlanks(): void {
    while (/\s/u.test(this.#text[this.#at] ?? "x")) this.#at += 1;
  }

  #fail(): never {
    throw new NoLiteral(`at ${this.#at}`);
  }
}
