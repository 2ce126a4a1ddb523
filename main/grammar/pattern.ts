/**
 * Regular expressions of JSON schemas, as rules for the inside of a text: what a pattern takes is
 * written as the form of the values says, in JSON with its escapes. Without ^ anything may stand
 * before, without $ anything behind. What a grammar cannot say (looking around, going back to a
 * group) is refused.
 */
import type { WorkbenchError } from "../diagnostics/errors.ts";
import { characters, literal, one } from "./elements.ts";
import type { Element, Range, RuleBuilder, Sequence } from "./rules.ts";
import { GRAMMAR_LIMITS, LAST_CODE_POINT, inverted, joined, tooLarge } from "./rules.ts";
import type { PatternLetters } from "./valueForm.ts";

const DIGITS: readonly Range[] = [[0x30, 0x39]];
const WORDS: readonly Range[] = [...DIGITS, [0x41, 0x5a], one("_"), [0x61, 0x7a]];
const BLANKS: readonly Range[] = [
  ...([[9, 13], one(" "), [0xa0, 0xa0], [0x1680, 0x1680], [0x2000, 0x200a], [0x2028, 0x2029]] as const),
  ...([
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ] as const),
];
const CLASSES: Readonly<Record<string, readonly Range[]>> = {
  d: DIGITS,
  D: inverted(DIGITS),
  w: WORDS,
  W: inverted(WORDS),
  s: BLANKS,
  S: inverted(BLANKS),
};
const CONTROLS: Readonly<Record<string, string>> = { t: "\t", n: "\n", r: "\r", f: "\f", v: "\v", 0: "\0" };
const NOT_A_LINE = inverted([one("\n"), one("\r"), [0x2028, 0x2029]]);

export function patternRule(
  pattern: string,
  letters: PatternLetters,
  builder: RuleBuilder,
  wrong: (what: string) => WorkbenchError,
): Element {
  return new PatternReader(pattern, letters, builder, wrong).read();
}

class PatternReader {
  readonly #text: string;
  readonly #letters: PatternLetters;
  readonly #builder: RuleBuilder;
  readonly #wrong: (what: string) => WorkbenchError;
  #at = 0;
  #depth = 0;

  constructor(text: string, letters: PatternLetters, builder: RuleBuilder, wrong: (what: string) => WorkbenchError) {
    this.#text = text;
    this.#letters = letters;
    this.#builder = builder;
    this.#wrong = wrong;
  }

  read(): Element {
    const anything = this.#builder.repeated([this.#written([[0, LAST_CODE_POINT]])], 0, Infinity);
    const ways: Sequence[] = [];
    do {
      const begins = this.#take("^");
      const sequence = this.#sequence();
      const ends = this.#take("$");
      ways.push([...(begins ? [] : anything), ...sequence, ...(ends ? [] : anything)]);
    } while (this.#take("|"));
    if (this.#at < this.#text.length) throw this.#refuse();
    return this.#builder.rule(ways);
  }

  #sequence(): Sequence {
    const all: Element[] = [];
    for (let item = this.#item(); item !== undefined; item = this.#item()) all.push(...this.#counted(item));
    return all;
  }

  #item(): Element | undefined {
    const here = this.#here();
    if (here === "" || here === "|" || here === ")" || here === "$") return undefined;
    if (here === "(") return this.#group();
    if (this.#take(".")) return this.#written(NOT_A_LINE);
    if (here === "[") return this.#written(this.#class());
    if ("*+?{^".includes(here)) throw this.#refuse();
    return this.#written(this.#character(false));
  }

  #group(): Element {
    this.#take("(");
    if (++this.#depth > GRAMMAR_LIMITS.depth) throw tooLarge("groups within groups", GRAMMAR_LIMITS.depth);
    if (this.#take("?")) {
      const name = /^<[A-Za-z_]\w*>/u.exec(this.#text.slice(this.#at))?.[0];
      if (name !== undefined) this.#at += name.length;
      else if (!this.#take(":")) throw this.#refuse();
    }
    const ways: Sequence[] = [];
    do ways.push(this.#sequence());
    while (this.#take("|"));
    if (!this.#take(")")) throw this.#refuse();
    this.#depth--;
    return this.#builder.rule(ways);
  }

  #counted(item: Element): Sequence {
    const [whole = "", sign, least, comma, most] =
      /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/u.exec(this.#text.slice(this.#at)) ?? [];
    if (whole === "") return [item];
    this.#at += whole.length;
    const from = sign === undefined ? Number(least) : sign === "+" ? 1 : 0;
    const to =
      sign === undefined ? (comma === "" ? from : most === "" ? Infinity : Number(most)) : sign === "?" ? 1 : Infinity;
    const limit = GRAMMAR_LIMITS.repetitions;
    if (from > limit || (to !== Infinity && to > limit) || to < from)
      throw this.#wrong(`got the count ${whole}, expected one that rises to at most ${limit}`);
    return this.#builder.repeated([item], from, to);
  }

  /** The characters between brackets. */
  #class(): readonly Range[] {
    this.#take("[");
    const isNot = this.#take("^");
    const ranges: Range[] = [];
    while (!this.#take("]")) {
      const first = this.#character(true);
      const [low] = first;
      if (this.#here() !== "-" || this.#text[this.#at + 1] === "]" || first.length !== 1 || low?.[0] !== low?.[1]) {
        ranges.push(...first);
        continue;
      }
      this.#take("-");
      const [high, ...more] = this.#character(true);
      if (low === undefined || high === undefined || more.length > 0 || high[0] !== high[1] || high[1] < low[0])
        throw this.#refuse();
      ranges.push([low[0], high[1]]);
    }
    if (ranges.length === 0) throw this.#wrong("got an empty class [], expected characters in it");
    return isNot ? inverted(ranges) : joined(ranges);
  }

  /** One character, or the class behind a backslash. */
  #character(isInClass: boolean): readonly Range[] {
    const point = this.#text.codePointAt(this.#at);
    if (point === undefined) throw this.#refuse();
    this.#at += point > 0xffff ? 2 : 1;
    if (point !== 0x5c) return [[point, point]];
    const letter = this.#here();
    this.#at += letter.length;
    const known = CLASSES[letter];
    if (known !== undefined) return known;
    if (letter === "b" && isInClass) return [one("\b")];
    const control = CONTROLS[letter];
    if (control !== undefined) return [one(control)];
    const digits = letter === "x" ? 2 : letter === "u" ? 4 : 0;
    const hex = this.#text.slice(this.#at, this.#at + digits);
    if (digits > 0 && hex.length === digits && /^[\da-fA-F]+$/u.test(hex)) {
      this.#at += digits;
      const value = parseInt(hex, 16);
      return [[value, value]];
    }
    if (letter === "" || /[\dA-Za-z]/u.test(letter)) {
      this.#at -= letter.length + 1;
      throw this.#refuse();
    }
    return [one(letter)];
  }

  /** Characters of a text, each as the form writes it. */
  #written(ranges: readonly Range[]): Element {
    const rising = joined(ranges);
    const plain = common(rising, this.#letters.plain);
    const escaped = this.#letters.escaped.filter(([character]) => common(rising, [one(character)]).length > 0);
    if (plain.length === 0 && escaped.length === 0)
      throw this.#wrong(
        "it asks for characters that a text here cannot hold: controls, halves of pairs, beginnings of marks",
      );
    if (escaped.length === 0) return characters(...plain);
    return this.#builder.rule([
      ...(plain.length === 0 ? [] : [[characters(...plain)]]),
      ...escaped.map(([, written]) => literal(written)),
    ]);
  }

  #take(sign: string): boolean {
    const isThere = this.#text.startsWith(sign, this.#at) && sign !== "";
    if (isThere) this.#at += sign.length;
    return isThere;
  }

  #here(): string {
    return this.#text[this.#at] ?? "";
  }

  #refuse(): WorkbenchError {
    const rest = this.#text.slice(this.#at, this.#at + 10);
    return this.#wrong(
      `got ${rest === "" ? "its end" : JSON.stringify(rest)} at ${this.#at + 1}, expected characters, classes, groups and counts, with ^ and $ at the ends`,
    );
  }
}

/** What lies in both; each rises. */
function common(a: readonly Range[], b: readonly Range[]): Range[] {
  return a.flatMap(([first, last]) =>
    b.flatMap(([from, to]): Range[] => {
      const [low, high] = [Math.max(first, from), Math.min(last, to)];
      return low <= high ? [[low, high]] : [];
    }),
  );
}
