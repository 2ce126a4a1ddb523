/**
 * The words of the text form, one at a time: the reader asks for the next. Comments and ends of lines are noted on the way,
 * because the formatter keeps them.
 */

/** Where something stands: offsets in the text, the end behind it. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export type Kind = "name" | "value" | "string" | "number" | "hash" | "mark" | "end" | "unknown";

export interface Comment extends Span {
  readonly text: string;
  /** Nothing but spaces stands before it on its line. */
  readonly isAlone: boolean;
  /** An empty line stands before it. */
  readonly isApart: boolean;
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isNameStart = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95;
const isName = (code: number): boolean => isNameStart(code) || isDigit(code);
const MARKS = new Set(Array.from("{}()[]:,=@|", (mark) => mark.charCodeAt(0)));

/** The mark that some editors put before a text. */
const BYTE_ORDER = 0xfeff;
const NUMBER = /-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const TEXT = /"(?:[^"\\\n]|\\.)*"/y;

export class Scanner {
  readonly text: string;
  kind: Kind = "end";
  start = 0;
  end = 0;
  /** Where the word before ended. */
  before = 0;
  /** The comments before this word that no statement has taken yet. */
  comments: Comment[] = [];
  /** Ends of lines between the word before and this one. */
  lines = 0;

  constructor(text: string) {
    this.text = text;
    this.next();
  }

  get word(): string {
    return this.text.slice(this.start, this.end);
  }

  is(mark: string): boolean {
    const { kind, start, end } = this;
    return (kind === "mark" || kind === "name") && end - start === mark.length && this.text.startsWith(mark, start);
  }

  next(): void {
    this.before = this.end;
    this.#skip();
    const at = this.end;
    this.start = at;
    const code = this.text.charCodeAt(at);
    if (Number.isNaN(code)) this.kind = "end";
    else if (isNameStart(code)) this.#run("name", at + 1);
    else if (code === 37) this.#value(at);
    else if (code === 34) this.#match("string", TEXT);
    else if (code === 35) this.#run("hash", at + 1);
    else if (isDigit(code) || code === 45 || code === 46) this.#number(at);
    else this.#take(MARKS.has(code) ? "mark" : "unknown", at + (code >= 0xd800 && code < 0xdc00 ? 2 : 1));
  }

  /** From here up to a mark on the same line, as it stands there; the mark is the next word. */
  upTo(mark: string): Span {
    const { start } = this;
    let at = start;
    for (; at < this.text.length; at++) {
      const character = this.text[at];
      if (character === mark || character === "\n") break;
    }
    this.end = at;
    this.next();
    return { start, end: at };
  }

  #take(kind: Kind, end: number): void {
    this.kind = kind;
    this.end = end;
  }

  #run(kind: Kind, from: number): void {
    let at = from;
    while (isName(this.text.charCodeAt(at))) at++;
    this.#take(at === from && kind !== "name" ? "unknown" : kind, at);
  }

  /** `%x`, and `%x.1` for one of several results. */
  #value(at: number): void {
    this.#run("value", at + 1);
    if (this.text.charCodeAt(this.end) !== 46 || !isDigit(this.text.charCodeAt(this.end + 1))) return;
    this.end++;
    while (isDigit(this.text.charCodeAt(this.end))) this.end++;
  }

  #number(at: number): void {
    if (this.text.startsWith("-inf", at) && !isName(this.text.charCodeAt(at + 4))) this.#take("number", at + 4);
    else this.#match("number", NUMBER);
  }

  #match(kind: Kind, pattern: RegExp): void {
    pattern.lastIndex = this.start;
    if (pattern.test(this.text)) this.#take(kind, pattern.lastIndex);
    else this.#take("unknown", this.start + 1);
  }

  #skip(): void {
    this.lines = 0;
    let lines = 0;
    for (let at = this.end; ; at++) {
      const code = this.text.charCodeAt(at);
      if (code === 10) {
        lines++;
        this.lines++;
      } else if (code === 47 && this.text.charCodeAt(at + 1) === 47) {
        const end = this.text.indexOf("\n", at);
        const stop = end < 0 ? this.text.length : end;
        const text = this.text.slice(at, stop).trimEnd();
        const isFirst = this.end === 0 && this.lines === 0 && this.text.slice(0, at).trim() === "";
        this.comments.push({ start: at, end: stop, text, isAlone: this.lines > 0 || isFirst, isApart: lines > 1 });
        lines = 0;
        at = stop - 1;
      } else if (code !== 32 && code !== 9 && code !== 13 && !(code === BYTE_ORDER && at === 0)) {
        this.end = at;
        return;
      }
    }
  }
}
