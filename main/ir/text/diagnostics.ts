/** What is wrong in a text: all of it at once, each with its place and, where there is one, what to write instead. */
import type { ErrorCode } from "../../diagnostics/codes.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Span } from "./scanner.ts";
import { numberText } from "./spelling.ts";
import type { Word } from "./syntax.ts";

export interface Fix {
  readonly title: string;
  readonly span: Span;
  readonly text: string;
}

export interface Diagnostic {
  readonly code: ErrorCode;
  readonly message: string;
  readonly span: Span;
  /** From 1, as editors count. */
  readonly line: number;
  readonly column: number;
  readonly fix?: Fix;
}

/** A text with more faults is no graph text. */
export const MOST_DIAGNOSTICS = 100;

/** Collects diagnostics; lines and columns are worked out from the offsets. */
export class Faults {
  readonly list: Diagnostic[] = [];
  readonly #text: string;
  #lineStarts: readonly number[] | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  get isFull(): boolean {
    return this.list.length >= MOST_DIAGNOSTICS;
  }

  add(code: ErrorCode, span: Span, message: string, fix?: Fix): void {
    if (this.isFull) return;
    const { line, column } = this.placeOf(span.start);
    this.list.push({ code, message, span, line, column, ...(fix && { fix }) });
  }

  placeOf(offset: number): { readonly line: number; readonly column: number } {
    const starts = (this.#lineStarts ??= lineStartsOf(this.#text));
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  }

  /** In the order of the text. */
  sorted(): readonly Diagnostic[] {
    return this.list.toSorted((a, b) => a.span.start - b.span.start);
  }
}

function lineStartsOf(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** Float64's largest below 2^63, where the whole numbers of i64 end. */
const LARGEST_HELD = 2 ** 63 - 1024;

/** A whole number that would become another one without a word. `what`: "i64", or "whole". */
export function roundedFault(faults: Faults, code: ErrorCode, what: string, word: Word): void {
  const text = numberText(Math.min(LARGEST_HELD, Number(word.text)));
  const message = `${what} numbers are held exactly up to 2^53: got ${word.text.slice(0, 40)}`;
  faults.add(code, { start: word.start, end: word.end }, message, { title: `write ${text}`, span: word, text });
}

/** What is wrong with a constant that only its type tells; true where something is. */
export function addRounded(faults: Faults, dtype: string, rounded: Word | undefined): boolean {
  // What no i64 is at all is told elsewhere. 2^63 - 1 becomes 2^63.
  if (rounded === undefined || dtype !== "i64" || Math.abs(Number(rounded.text)) > 2 ** 63) return false;
  roundedFault(faults, "IR_TYPE", "[constant] numbers: i64", rounded);
  return true;
}

/** The first fault as an error, for callers who want a graph or nothing. */
export function textError(name: string, diagnostics: readonly Diagnostic[]): WorkbenchError {
  const [first] = diagnostics;
  const more = diagnostics.length > 1 ? `, and ${diagnostics.length - 1} more` : "";
  const place = first === undefined ? "" : `:${first.line}:${first.column}`;
  return new WorkbenchError(first?.code ?? "IR_STRUCTURE", `[${name}${place}] ${first?.message ?? "no graph"}${more}`, {
    hint: first?.fix?.title ?? "rlx check lists everything that is wrong in the text.",
  });
}
