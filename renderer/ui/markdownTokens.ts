/**
 * Markdown as tokens, with bounds. The text comes from a model: nested thousands deep it overflows the parser's stack, and a
 * paragraph of thousands of emphasis marks takes it seconds. Such text is shown as it is.
 */
import type { Token } from "marked";
import { lexer } from "marked";

/** Deeper nesting is shown as plain text. */
export const MOST_NESTED = 24;
const MOST_MARKS = 1000;

const NESTED = new RegExp(String.raw`^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])){${MOST_NESTED + 1}}`, "m");

/** null: the text is shown as it is. */
export function markdownTokens(text: string): readonly Token[] | null {
  if (NESTED.test(text) || text.split(/\n[ \t]*\n/).some(hasManyMarks)) return null;
  try {
    return lexer(text);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

const hasManyMarks = (paragraph: string): boolean => (paragraph.match(/[*_~]+/g)?.length ?? 0) > MOST_MARKS;
