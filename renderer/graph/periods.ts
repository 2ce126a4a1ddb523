/** Blocks of different kinds that come again and again: where the order repeats, and how to say so. */

/** Blocks of one period at most: more cannot be said in a line. */
const LONGEST = 12;

/** How many values the sequence repeats after; the last time it may break off. undefined: it does not repeat twice. */
export function periodOf(values: readonly unknown[]): number | undefined {
  for (let period = 1; period <= LONGEST && 2 * period <= values.length; period++)
    if (values.every((value, i) => i < period || value === values[i - period])) return period;
  return undefined;
}

/**
 * Values at the ends that may be out of order, but not more than half: what comes first of each kind
 * often differs in something small, because later blocks share it.
 */
const MOST_ODD = LONGEST;

/** The longest part of a sequence that repeats, from `start` up to `end`. undefined: too little of it does. */
export function repeatingPart(
  values: readonly unknown[],
): { readonly start: number; readonly end: number } | undefined {
  for (let odd = 0; odd <= Math.min(MOST_ODD, values.length / 2); odd++)
    for (let start = 0; start <= odd; start++) {
      const end = values.length - odd + start;
      if (periodOf(values.slice(start, end)) !== undefined) return { start, end };
    }
  return undefined;
}

/** "3 × window of 512", "full attention" */
function runs(words: readonly string[]): readonly string[] {
  const parts: { word: string; count: number }[] = [];
  for (const word of words) {
    const last = parts.at(-1);
    if (last?.word === word) last.count++;
    else parts.push({ word, count: 1 });
  }
  return parts.map(({ word, count }) => (count === 1 ? word : `${count} × ${word}`));
}

const summed = (words: readonly string[]): string => runs(words).join(" + ");

/** Runs that can be read in a line. */
const MOST_RUNS = 4;

interface Parts {
  readonly before: readonly string[];
  readonly body: readonly string[];
  readonly times: number;
  readonly after: readonly string[];
}

/** The runs before the first whole period, in one, and after the last. */
function partsFrom(words: readonly string[], lead: number, period: number): Parts {
  const times = Math.floor((words.length - lead) / period);
  return {
    before: runs(words.slice(0, lead)),
    body: runs(words.slice(lead, lead + period)),
    times,
    after: runs(words.slice(lead + times * period)),
  };
}

const lengthOf = ({ before, body, after }: Parts): number => before.length + body.length + after.length;

/** What blocks in a row are, by the words of each: "" where all are alike. */
export function patternWords(words: readonly string[]): string {
  const kinds = new Set(words);
  if (kinds.size < 2) return "";
  const period = periodOf(words);
  if (period === undefined) {
    // Without an order that repeats, the runs are said where they are few, else how many of each there are.
    if (runs(words).length <= MOST_RUNS) return summed(words);
    const byKind = [...kinds].flatMap((kind) => words.filter((word) => word === kind));
    return `${summed(byKind)}, mixed`;
  }
  // The sequence may begin in the middle of a period: it is said from where that takes the fewest words. Of equally short
  // ways the one that begins with a period counts, then the one that begins latest, which leaves less behind it.
  const leads = Array.from({ length: period }, (_, i) => (period - i) % period);
  const ways = leads.map((lead) => partsFrom(words, lead, period)).filter(({ times }) => times > 1);
  const { before, body, times, after } = ways.reduce((best, way) => (lengthOf(way) < lengthOf(best) ? way : best));
  return [...before, `${times} × (${body.join(" + ")})`, ...after].join(" + ");
}
