/**
 * Cuts a template into text and tags by Jinja2's rules for white space: `trim_blocks`,
 * `lstrip_blocks`, the signs `-` and `+` at either end of a tag, and raw blocks.
 */
import { templateError } from "./budget.ts";
import { tagTokens } from "./tagLexer.ts";
import type { TagToken } from "./tagLexer.ts";
import { isBlank, stripped } from "./textMethods.ts";

/** A piece of a template: text as it stands, or a tag that writes (`{{`) or acts (`{%`). */
export type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "output" | "statement"; readonly tokens: readonly TagToken[] };

const OPEN = /\{([%{#])([-+]?)/gu;
const RAW = /\{%[-+]?\s*raw\s*(-?)%\}/uy;
const END_RAW = /\{%([-+]?)\s*endraw\s*([-+]?)%\}/gu;

export function templatePieces(template: string): readonly Piece[] {
  const source = template.replace(/\r\n?/gu, "\n").replace(/\n$/u, "");
  const pieces: Piece[] = [];
  let at = 0;
  const write = (text: string): void => {
    if (text !== "") pieces.push({ kind: "text", text });
  };
  /** The text up to a tag; `sign` is the tag's, and only blocks and comments take the blanks before them away. */
  const writeUntil = (end: number, sign: string, isBlock: boolean): void => {
    const startsLine = at === 0 || source[at - 1] === "\n";
    write(textBefore(source.slice(at, end), sign, isBlock, startsLine));
  };
  const closeAt = (end: number, sign: string, isBlock: boolean): void => {
    at = end;
    if (sign === "-") while (at < source.length && isBlank(source[at] ?? "")) at += 1;
    else if (isBlock && sign === "" && source[at] === "\n") at += 1;
  };
  for (;;) {
    OPEN.lastIndex = at;
    const open = OPEN.exec(source);
    if (open === null) break;
    const [{ length }, kind = "", sign = ""] = open;
    writeUntil(open.index, sign, kind !== "{");
    const inside = open.index + length;
    RAW.lastIndex = open.index;
    const raw = kind === "%" ? RAW.exec(source) : null;
    if (raw !== null) {
      closeAt(open.index + raw[0].length, raw[1] ?? "", false);
      END_RAW.lastIndex = at;
      const end = END_RAW.exec(source);
      if (end === null) throw templateError("a raw block is not closed");
      writeUntil(end.index, end[1] ?? "", true);
      closeAt(end.index + end[0].length, end[2] ?? "", true);
    } else if (kind === "#") {
      const end = source.indexOf("#}", inside);
      if (end < 0) throw templateError("a comment is not closed");
      const closing = end > inside && "-+".includes(source[end - 1] ?? "x") ? (source[end - 1] ?? "") : "";
      closeAt(end + 2, closing, true);
    } else {
      const close = kind === "%" ? "%}" : "}}";
      const { end, sign: closing } = tagEnd(source, inside, close);
      pieces.push({ kind: kind === "%" ? "statement" : "output", tokens: tagTokens(source.slice(inside, end)) });
      closeAt(end + closing.length + 2, closing, kind === "%");
    }
  }
  write(source.slice(at));
  return pieces;
}

function textBefore(text: string, sign: string, isBlock: boolean, startsLine: boolean): string {
  if (sign === "-") return stripped(text, undefined, "right");
  if (sign === "+" || !isBlock) return text;
  const line = text.lastIndexOf("\n") + 1;
  const isIndent = (line > 0 || startsLine) && stripped(text.slice(line), undefined, "right") === "";
  return isIndent ? text.slice(0, line) : text;
}

/** Where a tag closes: not inside texts and brackets. */
function tagEnd(source: string, from: number, close: "%}" | "}}"): { readonly end: number; readonly sign: string } {
  let depth = 0;
  for (let at = from; at < source.length; at++) {
    const character = source[at] ?? "";
    if (depth === 0) {
      if (source.startsWith(close, at)) return { end: at, sign: "" };
      const isSign = character === "-" || (character === "+" && close === "%}");
      if (isSign && source.startsWith(close, at + 1)) return { end: at, sign: character };
    }
    if (character === "'" || character === '"') at = textEnd(source, at);
    else if ("([{".includes(character)) depth += 1;
    else if (")]}".includes(character)) depth = Math.max(0, depth - 1);
  }
  throw templateError("a tag is not closed");
}

function textEnd(source: string, from: number): number {
  for (let at = from + 1; at < source.length; at++) {
    if (source[at] === "\\") at += 1;
    else if (source[at] === source[from]) return at;
  }
  throw templateError("a text in a tag is not closed");
}
