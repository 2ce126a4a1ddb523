/**
 * Reads GBNF, llama.cpp's form of grammars: `name ::= "text" [a-z] other-rule ( … | … )* item{2,5} . # comment`, a rule a
 * line, in groups and behind `::=` and `|` over several lines. `root` is where a text begins.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Element, Grammar, Range, Sequence } from "./rules.ts";
import {
  GRAMMAR_LIMITS,
  inverted,
  joined,
  LAST_CODE_POINT,
  leftRecursive,
  RuleBuilder,
  tokenPoint,
  tooLarge,
} from "./rules.ts";

/** The tokens that a grammar may name. */
export interface TokenNames {
  readonly size: number;
  readonly idOf: (text: string) => number | undefined;
}

export function parseGbnf(text: string, tokens: TokenNames = { size: 0, idOf: () => undefined }): Grammar {
  if (text.length > GRAMMAR_LIMITS.text) throw tooLarge("characters", GRAMMAR_LIMITS.text);
  return new GbnfReader(text, tokens).read();
}

interface Named {
  readonly rule: number;
  /** Where its name was first read. */
  readonly at: number;
}

const ESCAPES: Readonly<Record<string, string>> = {
  t: "\t",
  r: "\r",
  n: "\n",
  "\\": "\\",
  '"': '"',
  "[": "[",
  "]": "]",
};
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };
const NAME = /[A-Za-z0-9-]+/uy;
const COUNT = /\d+/uy;

class GbnfReader {
  readonly #text: string;
  readonly #tokens: TokenNames;
  readonly #builder = new RuleBuilder();
  readonly #names = new Map<string, Named>();
  #at = 0;
  #depth = 0;

  constructor(text: string, tokens: TokenNames) {
    this.#text = text;
    this.#tokens = tokens;
  }

  read(): Grammar {
    this.#skip(true);
    while (this.#at < this.#text.length) this.#rule();
    for (const [name, { rule, at }] of this.#names)
      if (!this.#builder.isDefined(rule)) throw this.#wrong(`the rule ${name} is used, but not defined`, at);
    const root = this.#names.get("root");
    if (root === undefined)
      throw new WorkbenchError("INPUT_ARGUMENT", "[grammar] no rule is called root", {
        hint: "A text begins with the rule root: write root ::= ….",
      });
    const grammar = this.#builder.finish(root.rule);
    const recursive = leftRecursive(grammar);
    if (recursive === undefined) return grammar;
    const [name, at] = this.#nearestName(recursive);
    throw this.#wrong(`${name} can begin with itself without reading a character`, at);
  }

  #rule(): void {
    const start = this.#at;
    const name = this.#match(NAME);
    if (name === undefined) throw this.#wrong(`got ${this.#next()}, expected the name of a rule`);
    this.#skip(false);
    if (!this.#text.startsWith("::=", this.#at)) throw this.#wrong(`got ${this.#next()}, expected ::= behind ${name}`);
    this.#at += 3;
    const { rule } = this.#named(name, start);
    if (this.#builder.isDefined(rule)) throw this.#wrong(`the rule ${name} is defined twice`, start);
    this.#skip(true);
    this.#builder.define(rule, this.#alternatives(false));
    if (this.#at < this.#text.length && !/[\r\n]/u.test(this.#here()))
      throw this.#wrong(`got ${this.#next()}, expected a new line behind the rule ${name}`);
    this.#skip(true);
  }

  #alternatives(nested: boolean): Sequence[] {
    const all = [this.#sequence(nested)];
    while (this.#here() === "|") {
      this.#at++;
      this.#skip(true);
      all.push(this.#sequence(nested));
    }
    return all;
  }

  #sequence(nested: boolean): Sequence {
    const sequence: Element[] = [];
    /** Where the last item begins: a repetition is of it. */
    let item: number | undefined;
    for (;;) {
      const repetition = this.#repetition();
      if (repetition !== undefined) {
        if (item === undefined) throw this.#wrong("got a repetition, expected something before it", repetition.at);
        const repeated = sequence.splice(item);
        sequence.push(...this.#builder.repeated(repeated, repetition.least, repetition.most));
      } else {
        const read = this.#item();
        if (read === undefined) return sequence;
        item = sequence.length;
        sequence.push(...read);
      }
      this.#skip(nested);
    }
  }

  #item(): Sequence | undefined {
    const start = this.#at;
    switch (this.#here()) {
      case '"':
        return this.#literal();
      case "[":
        return [this.#class()];
      case ".":
        this.#at++;
        return [{ kind: "characters", ranges: [[0, LAST_CODE_POINT]] }];
      case "(":
        return [this.#group()];
      case "<":
      case "!":
        return [this.#token()];
      default: {
        const name = this.#match(NAME);
        return name === undefined ? undefined : [{ kind: "rule", rule: this.#named(name, start).rule }];
      }
    }
  }

  /** A token of the vocabulary by its text (`<think>`) or id (`<[151667]>`), or any other one (`!<think>`). */
  #token(): Element {
    const start = this.#at;
    const isNot = this.#here() === "!";
    if (isNot) this.#at++;
    const [name] = /^<[^<>\s]{1,200}>/u.exec(this.#text.slice(this.#at, this.#at + 202)) ?? [];
    if (name === undefined) throw this.#wrong("got a token without its end, expected <text> or <[id]>", start);
    const number = /^<\[(\d{1,9})\]>$/u.exec(name)?.[1];
    const id = number === undefined ? this.#tokens.idOf(name) : Number(number);
    const { size } = this.#tokens;
    if (id === undefined || id >= size)
      throw this.#wrong(`got the token ${name}, expected one of the vocabulary of ${size} tokens`, start);
    this.#at += name.length;
    const [first, last] = [tokenPoint(0), tokenPoint(size - 1)];
    const point = tokenPoint(id);
    const others: readonly Range[] = [
      [first, point - 1],
      [point + 1, last],
    ];
    return { kind: "characters", ranges: isNot ? others.filter(([low, high]) => low <= high) : [[point, point]] };
  }

  #group(): Element {
    const start = this.#at++;
    if (++this.#depth > GRAMMAR_LIMITS.depth) throw tooLarge("groups within groups", GRAMMAR_LIMITS.depth);
    this.#skip(true);
    const group = this.#builder.rule(this.#alternatives(true));
    if (this.#here() !== ")") throw this.#wrong(`got ${this.#next()}, expected ) for the ( at ${this.#place(start)}`);
    this.#at++;
    this.#depth--;
    return group;
  }

  #literal(): Sequence {
    const start = this.#at++;
    const sequence: Element[] = [];
    while (this.#here() !== '"') {
      const point = this.#character(start);
      sequence.push({ kind: "characters", ranges: [[point, point]] });
    }
    this.#at++;
    return sequence;
  }

  #class(): Element {
    const start = this.#at++;
    const isNot = this.#here() === "^";
    if (isNot) this.#at++;
    const ranges: Range[] = [];
    while (this.#here() !== "]") {
      const at = this.#at;
      const first = this.#character(start);
      if (this.#here() !== "-" || this.#text[this.#at + 1] === "]") {
        ranges.push([first, first]);
        continue;
      }
      this.#at++;
      const last = this.#character(start);
      if (last < first) throw this.#wrong("got a range that falls, expected one that rises", at);
      ranges.push([first, last]);
    }
    this.#at++;
    if (ranges.length === 0 && !isNot) throw this.#wrong("got no characters in [], expected one at least", start);
    return { kind: "characters", ranges: isNot ? inverted(ranges) : joined(ranges) };
  }

  /** A character of a text or class, with escapes. `start`: where that begins. */
  #character(start: number): number {
    const at = this.#at;
    const point = this.#text.codePointAt(at);
    if (point === undefined) throw this.#wrong(`got the end, expected the end of what begins at ${this.#place(start)}`);
    this.#at += point > 0xffff ? 2 : 1;
    if (point !== 0x5c) return point;
    const letter = this.#here();
    this.#at++;
    const plain = ESCAPES[letter];
    if (plain !== undefined) return plain.charCodeAt(0);
    const digits = HEX_DIGITS[letter];
    if (digits === undefined)
      throw this.#wrong(`got the escape \\${letter}, expected \\n, \\r, \\t, \\\\, \\", \\[, \\], \\x, \\u or \\U`, at);
    const hex = this.#text.slice(this.#at, this.#at + digits);
    if (hex.length < digits || !/^[0-9a-fA-F]+$/u.test(hex))
      throw this.#wrong(`got \\${letter}${hex}, expected ${digits} hexadecimal digits`, at);
    this.#at += digits;
    const value = parseInt(hex, 16);
    if (value > LAST_CODE_POINT) throw this.#wrong(`got \\${letter}${hex}, expected a character up to 10ffff`, at);
    return value;
  }

  #repetition(): { readonly least: number; readonly most: number; readonly at: number } | undefined {
    const at = this.#at;
    const sign = this.#here();
    if (sign === "*" || sign === "+" || sign === "?") {
      this.#at++;
      return { at, least: sign === "+" ? 1 : 0, most: sign === "?" ? 1 : Infinity };
    }
    if (sign !== "{") return undefined;
    this.#at++;
    this.#skip(true);
    const least = this.#match(COUNT);
    this.#skip(true);
    let most = least;
    if (this.#here() === ",") {
      this.#at++;
      this.#skip(true);
      most = this.#match(COUNT) ?? "Infinity";
      this.#skip(true);
    }
    if (least === undefined || this.#here() !== "}") throw this.#wrong("expected {n}, {n,} or {n,m}", at);
    this.#at++;
    const [low, high] = [Number(least), Number(most)];
    const limit = GRAMMAR_LIMITS.repetitions;
    if (low > limit || (high !== Infinity && high > limit))
      throw this.#wrong(`expected at most ${limit} repetitions`, at);
    if (high < low) throw this.#wrong(`got {${low},${high}}, expected counts that rise`, at);
    return { at, least: low, most: high };
  }

  #named(name: string, at: number): Named {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const named = { rule: this.#builder.reserve(), at };
    this.#names.set(name, named);
    return named;
  }

  /** Rules of groups and repetitions have no name: that of the rule before, in which they stand. */
  #nearestName(rule: number): readonly [string, number] {
    const before = [...this.#names].filter(([, named]) => named.rule <= rule).sort((a, b) => a[1].rule - b[1].rule);
    const [name, { at }] = before.at(-1) ?? ["a rule", { at: 0 }];
    return [name, at];
  }

  /** Blanks and comments; line ends where `lines`. */
  #skip(lines: boolean): void {
    for (;;) {
      const here = this.#here();
      if (here === "#") while (this.#at < this.#text.length && !/[\r\n]/u.test(this.#here())) this.#at++;
      else if (here === " " || here === "\t" || (lines && (here === "\r" || here === "\n"))) this.#at++;
      else return;
    }
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #here(): string {
    return this.#text[this.#at] ?? "";
  }
  #next(): string {
    const here = this.#here();
    return here === "" ? "the end" : here === "\n" || here === "\r" ? "the end of the line" : JSON.stringify(here);
  }

  #place(at: number): string {
    const before = this.#text.slice(0, at).split("\n");
    return `line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
  }

  #wrong(what: string, at = this.#at): WorkbenchError {
    return new WorkbenchError("INPUT_ARGUMENT", `[grammar] ${this.#place(at)}: ${what}`);
  }
}
