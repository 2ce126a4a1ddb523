/** Breaks a line into lines of a width, by the rules of Python's textwrap. */
import { firstCharacters } from "./numberFormat.ts";
import { textLength } from "./values.ts";

interface WrapStyle {
  readonly width: number;
  readonly breaksWords: boolean;
  readonly breaksHyphens: boolean;
}

const isSpace = (piece: string): boolean => piece.trim() === "";

export function wrapped(text: string, { width, breaksWords, breaksHyphens }: WrapStyle): string[] {
  // The next piece is the last of the list.
  const pieces = piecesOf(text, breaksHyphens).reverse();
  const lines: string[] = [];
  while (pieces.length > 0) {
    if (lines.length > 0 && isSpace(pieces.at(-1) ?? "")) pieces.pop();
    const line: string[] = [];
    let room = width;
    for (let next = pieces.at(-1); next !== undefined && fits(next, room); next = pieces.at(-1)) {
      line.push(next);
      room -= textLength(next);
      pieces.pop();
    }
    const long = pieces.at(-1);
    if (long !== undefined && !fits(long, width)) {
      pieces.pop();
      const start = breaksWords ? broken(long, room, breaksHyphens) : line.length === 0 ? long : "";
      if (breaksWords || start !== "") line.push(start);
      if (start !== long) pieces.push(long.slice(start.length));
    }
    if (isSpace(line.at(-1) ?? "x")) line.pop();
    if (line.length > 0) lines.push(line.join(""));
  }
  return lines;
}

/** Looks at no more of a long text than may fit. */
const fits = (text: string, room: number): boolean =>
  text.length <= room || (text.length <= 2 * room && textLength(text) <= room);

/** The beginning of a word up to the last hyphen that fits, or to where the room ends. */
function broken(word: string, room: number, breaksHyphens: boolean): string {
  const start = firstCharacters(word, room);
  const hyphen = breaksHyphens ? start.lastIndexOf("-") : -1;
  return hyphen > 0 && /[^-]/u.test(start.slice(0, hyphen)) ? start.slice(0, hyphen + 1) : start;
}

const RUNS = /[\t\n\v\f\r ]+|[^\t\n\v\f\r ]+/gu;
const DASHES = /(?<=[\p{L}\p{N}_!"'&.,?])(-{2,}(?=[\p{L}\p{N}_]))/u;
const HYPHENS = /(?<=[\p{L}_]{2}-|[\p{L}_]-[\p{L}_]-)(?=[\p{L}_]-?[\p{L}_])/u;

/** Runs of white space, and words; words end at a hyphen between letters, and at dashes. */
function piecesOf(text: string, breaksHyphens: boolean): string[] {
  const runs = text.match(RUNS) ?? [];
  if (!breaksHyphens) return runs;
  return runs.flatMap((run) =>
    isSpace(run)
      ? [run]
      : run
          .split(DASHES)
          .flatMap((part) => part.split(HYPHENS))
          .filter((part) => part !== ""),
  );
}
