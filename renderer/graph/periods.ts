/** Blocks of different kinds that come again and again: where the order repeats, and how to say so. */

/** Blocks of one period at most: more cannot be said in a line. */
const LONGEST = 12;

/** How many values the sequence repeats after; the last time it may break off. undefined: it does not repeat twice. */
export function periodOf(values: readonly unknown[]): number | undefined {
  for (let period = 1; period <= LONGEST && 2 * period <= values.length; period++)
    if (values.every((value, i) => i < period || value === values[i - period])) return period;
  return undefined;
}

/** "3 × window of 512 + full attention" */
function runs(words: readonly string[]): string {
  const parts: { word: string; count: number }[] = [];
  for (const word of words) {
    const last = parts.at(-1);
    if (last?.word === word) last.count++;
    else parts.push({ word, count: 1 });
  }
  return parts.map(({ word, count }) => (count === 1 ? word : `${count} × ${word}`)).join(" + ");
}

/** What blocks in a row are, by the words of each: "" where all are alike. */
export function patternWords(words: readonly string[]): string {
  const kinds = new Set(words);
  if (kinds.size < 2) return "";
  const period = periodOf(words);
  if (period === undefined) {
    const sorted = [...words].sort((a, b) => words.indexOf(a) - words.indexOf(b));
    const inTurns = runs(words);
    // Without an order that repeats, the runs are said where they are few, else how many of each there are.
    return inTurns.split(" + ").length <= 4 ? inTurns : `${runs(sorted)}, mixed`;
  }
  const times = Math.floor(words.length / period);
  const rest = words.slice(times * period);
  return `${times} × (${runs(words.slice(0, period))})${rest.length === 0 ? "" : ` + ${runs(rest)}`}`;
}
