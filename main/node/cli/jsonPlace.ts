/** Where a value stands in the text of a JSON document, so that an error can name line and column. */

export interface TextPlace {
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
}

export function placeAt(text: string, offset: number): TextPlace {
  const before = text.slice(0, Math.max(0, offset));
  const lines = before.split("\n");
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

/** Of a parse that failed: where the reader stopped. */
export function faultPlace(text: string, message: string): TextPlace | undefined {
  const offset = /at position (\d+)/u.exec(message)?.[1];
  if (offset !== undefined) return placeAt(text, Number(offset));
  return /end of JSON input/u.test(message) ? placeAt(text, text.length) : undefined;
}

/** Of the value behind these keys, or of the last key on the way that is there. The text is valid JSON. */
export function valuePlace(text: string, path: readonly PropertyKey[]): TextPlace {
  const scanner = new Scanner(text);
  return placeAt(text, scanner.find(path.map(String)));
}

/** Words of JSON one after the other; sub-values are passed over by counting brackets. */
class Scanner {
  readonly #text: string;
  readonly #word = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gsu;

  constructor(text: string) {
    this.#text = text;
  }

  #next(): { readonly word: string; readonly at: number } {
    const match = this.#word.exec(this.#text);
    return match === null ? { word: "", at: this.#text.length } : { word: match[0], at: match.index };
  }

  find(path: readonly string[]): number {
    let { word, at } = this.#next();
    for (const key of path) {
      const isList = word === "[";
      if (word !== "{" && !isList) return at;
      const found = isList ? this.#item(Number(key)) : this.#member(key);
      if (found === undefined) return at;
      ({ word, at } = found);
    }
    return at;
  }

  #member(key: string): { readonly word: string; readonly at: number } | undefined {
    for (;;) {
      const name = this.#next();
      if (!name.word.startsWith('"')) return undefined;
      this.#next();
      const value = this.#next();
      if (JSON.parse(name.word) === key) return value;
      if (this.#pass(value.word) !== ",") return undefined;
    }
  }

  #item(index: number): { readonly word: string; readonly at: number } | undefined {
    for (let i = 0; ; i++) {
      const value = this.#next();
      if (value.word === "" || value.word === "]") return undefined;
      if (i === index) return value;
      if (this.#pass(value.word) !== ",") return undefined;
    }
  }

  /** Past a value that began with this word; gives the word behind it. */
  #pass(word: string): string {
    let depth = word === "{" || word === "[" ? 1 : 0;
    for (;;) {
      const next = this.#next().word;
      if (depth === 0 || next === "") return next;
      if (next === "{" || next === "[") depth += 1;
      else if (next === "}" || next === "]") depth -= 1;
    }
  }
}
