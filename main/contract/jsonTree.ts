/**
 * Bounds the tree that a JSON text would become, without making it: a value stands at the start, after each comma and at most one
 * after each bracket. Text that is no JSON may be counted wrongly; the parser refuses it afterwards.
 */
const LETTERS = {
  quote: 0x22,
  comma: 0x2c,
  bracket: 0x5b,
  backslash: 0x5c,
  closingBracket: 0x5d,
  brace: 0x7b,
  closingBrace: 0x7d,
} as const;

/** The bound that the text goes beyond, if any. */
export function beyondTree(
  bytes: Uint8Array,
  most: { readonly depth: number; readonly values: number },
): "depth" | "values" | undefined {
  let values = 1;
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < bytes.length; at++) {
    const letter = bytes[at];
    if (quoted) {
      if (letter === LETTERS.backslash) at += 1;
      else if (letter === LETTERS.quote) quoted = false;
    } else if (letter === LETTERS.quote) quoted = true;
    else if (letter === LETTERS.comma) values += 1;
    else if (letter === LETTERS.bracket || letter === LETTERS.brace) {
      values += 1;
      depth += 1;
      if (depth > most.depth) return "depth";
    } else if (letter === LETTERS.closingBracket || letter === LETTERS.closingBrace) depth -= 1;
    if (values > most.values) return "values";
  }
  return undefined;
}
