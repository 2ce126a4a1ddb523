/**
 * About how wide a text is in a CSS font, where no canvas can measure it: the widths of Helvetica, which other sans-serif fonts
 * are within a few hundredths of, and one width for every letter of a mono font.
 */

/** Thousandths of the font's size for the characters from the space to the tilde. */
const HELVETICA = [
  278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
  556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
  722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
  556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
  260, 334, 584,
] as const;
const MONO = 602;
const OTHER = 600;
/** Chinese, Japanese and Korean letters fill a square. */
const WIDE = 1000;
const WIDE_FROM = 0x2e80;
const NARROW_SPACE = 0x202f;
/** Strong letters are wider. */
const STRONG = 1.06;

export function textWidth(font: string, text: string): number {
  const size = Number(/(\d+(?:\.\d+)?)px/.exec(font)?.[1] ?? 12);
  const strong = /^\s*(?:bold|[6-9]00)\b/.test(font) ? STRONG : 1;
  const isMono = /monospace/.test(font);
  let sum = 0;
  for (const letter of text) {
    const code = letter.codePointAt(0) ?? 0;
    if (code >= WIDE_FROM) sum += WIDE;
    else if (isMono) sum += MONO;
    else if (code === NARROW_SPACE) sum += HELVETICA[0] / 2;
    else sum += HELVETICA[code - 32] ?? OTHER;
  }
  return (sum * size * strong) / 1000;
}
