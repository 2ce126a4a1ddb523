/** The words inside a tag: names, numbers, texts and signs, as Jinja2 reads them. */
import { templateError } from "./budget.ts";

export type TagToken =
  | { readonly kind: "name" | "sign" | "text"; readonly value: string }
  | { readonly kind: "integer" | "float"; readonly value: number };

const BLANK = /\s+/uy;
const FLOAT = /(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?[eE][+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/uy;
const INTEGER = /0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[\da-fA-F])+|[1-9](?:_?\d)*|0(?:_?0)*/uy;
const NAME = /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*/uy;
const TEXT = /'(?:[^'\\]|\\[\s\S])*'|"(?:[^"\\]|\\[\s\S])*"/uy;
const SIGN = /\/\/|\*\*|==|!=|>=|<=|[-+/*%~[\](){}<>=.:|,;]/uy;

export function tagTokens(source: string): readonly TagToken[] {
  const tokens: TagToken[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(source)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  while (at < source.length) {
    if (take(BLANK) !== undefined) continue;
    const text = take(TEXT);
    if (text !== undefined) {
      tokens.push({ kind: "text", value: unescaped(text.slice(1, -1)) });
      continue;
    }
    // In `a.0.1` the numbers are places, not a fraction.
    const float = source[at - 1] === "." ? undefined : take(FLOAT);
    const integer = float === undefined ? take(INTEGER) : undefined;
    const number = float ?? integer;
    if (number !== undefined) {
      tokens.push({ kind: float === undefined ? "integer" : "float", value: Number(number.replaceAll("_", "")) });
      continue;
    }
    const name = take(NAME);
    const sign = name === undefined ? take(SIGN) : undefined;
    if (name !== undefined) tokens.push({ kind: "name", value: name });
    else if (sign !== undefined) tokens.push({ kind: "sign", value: sign });
    else throw templateError(`a tag has ${JSON.stringify(source.slice(at, at + 1))}, which has no meaning there`);
  }
  return tokens;
}

const ESCAPE = /\\(?:\n|([\\'"abfnrtv])|([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([xuUN]))/gu;
const LETTERS: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** Escapes of Python; what is none stays as it is, with its backslash. */
function unescaped(text: string): string {
  return text.replace(
    ESCAPE,
    (_, letter?: string, octal?: string, two?: string, four?: string, eight?: string, broken?: string) => {
      if (broken !== undefined) throw templateError(`a text has an escape \\${broken} that is not complete`);
      if (letter !== undefined) return LETTERS[letter] ?? letter;
      if (octal !== undefined) return String.fromCodePoint(parseInt(octal, 8));
      const digits = two ?? four ?? eight;
      if (digits === undefined) return "";
      const code = parseInt(digits, 16);
      if (code > 0x10ffff) throw templateError("a text has an escape beyond the last character");
      return String.fromCodePoint(code);
    },
  );
}
