/** Two benchmark results: the ratio of their medians with its 95 % interval, and a sentence that says no more than that. */
import { LEAST_REPEATS } from "../../../main/contract/views/run.ts";
import type { BenchTest } from "../../../main/contract/views/run.ts";
import { plural, significant } from "../../ui/format.ts";
import { median } from "../../ui/median.ts";
import { redConditions } from "./conditions.ts";
import type { BenchEntry } from "./slice.ts";
import { benchName } from "./slice.ts";

export interface Ratio {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

export interface ComparedTest {
  readonly test: "pp" | "tg";
  readonly left: BenchTest;
  readonly right: BenchTest;
  /** null: the two are not comparable. */
  readonly ratio: Ratio | null;
  readonly sentence: string;
}

/** Why the two cannot be compared, or null: a ratio of numbers that something else disturbed says nothing. */
export function notComparable(left: BenchEntry, right: BenchEntry): string | null {
  const reasons = [left, right].flatMap((entry) => {
    const red = redConditions(entry.result);
    return red === "" ? [] : [`during ${benchName(entry)}: ${red}`];
  });
  return reasons.length === 0 ? null : `Not comparable because of the conditions ${reasons.join("; ")}.`;
}

/**
 * Right to left. The interval is made of the ratios of every two repeats, one of each side, in order: as many are left out at
 * each end as the test of Mann and Whitney allows at 5 %. When the two do not differ, it therefore leaves 1 out in at most 5 of
 * 100 cases, whatever the distribution; of few repeats no ratio is left out.
 */
export function ratioOfMedians(left: readonly number[], right: readonly number[]): Ratio {
  const value = (median(right) ?? NaN) / (median(left) ?? NaN);
  const ratios = right.flatMap((mine) => left.map((other) => mine / other)).sort((a, b) => a - b);
  const out = Math.min(left.length, right.length) < LEAST_REPEATS ? 0 : ratiosLeftOut(left.length, right.length);
  return {
    value,
    low: Math.min(value, ratios[out] ?? NaN),
    high: Math.max(value, ratios[ratios.length - 1 - out] ?? NaN),
  };
}

/**
 * The largest k with 2 · P(U < k) ≤ 5 %, where U counts the pairs in which the second of two samples of one distribution is
 * the smaller. How many orders of n + m values have each U are the coefficients of the Gaussian binomial ∏ (1 - q^(m+i)) / (1 - q^i).
 */
export function ratiosLeftOut(n: number, m: number): number {
  // Of many values the counts leave the range of numbers, and U is normal.
  if (n * m > 10_000) return Math.floor((n * m) / 2 - 1.96 * Math.sqrt((n * m * (n + m + 1)) / 12));
  const orders = new Float64Array(n * m + 1);
  orders[0] = 1;
  for (let i = 1; i <= n; i++) {
    for (let u = n * m; u >= m + i; u--) orders[u] = (orders[u] ?? 0) - (orders[u - m - i] ?? 0);
    for (let u = i; u <= n * m; u++) orders[u] = (orders[u] ?? 0) + (orders[u - i] ?? 0);
  }
  const all = orders.reduce((sum, count) => sum + count, 0);
  let tail = 0;
  return orders.findIndex((count) => 2 * (tail += count) > 0.05 * all);
}

function sentenceOf(ratio: Ratio, repeats: number): string {
  if (repeats < LEAST_REPEATS)
    return `With ${plural(repeats, "repeat")} nothing can be said: measure at least ${LEAST_REPEATS}.`;
  if (ratio.low <= 1 && ratio.high >= 1) return "No difference that these repeats can show.";
  return `The second is ${significant(ratio.value)} × as fast.`;
}

export function compareBench(left: BenchEntry, right: BenchEntry): readonly ComparedTest[] {
  const why = notComparable(left, right);
  return left.result.tests.flatMap((mine): readonly ComparedTest[] => {
    const other = right.result.tests.find(({ test }) => test === mine.test);
    if (other === undefined || mine.samples.length === 0 || other.samples.length === 0) return [];
    const both = { test: mine.test, left: mine, right: other };
    if (why !== null) return [{ ...both, ratio: null, sentence: why }];
    const ratio = ratioOfMedians(mine.samples, other.samples);
    const repeats = Math.min(mine.samples.length, other.samples.length);
    return [{ ...both, ratio, sentence: sentenceOf(ratio, repeats) }];
  });
}

/** What else differs between the two: the reader decides whether it is the question or a mistake. */
export function benchDifferences(left: BenchEntry, right: BenchEntry): readonly string[] {
  const pairs: readonly (readonly [string, string | number, string | number])[] = [
    ["model", left.model, right.model],
    ["device", left.result.device, right.result.device],
    ["threads", left.result.threads, right.result.threads],
    ["kernels", left.result.kernels, right.result.kernels],
    ["prompt tokens", left.settings.promptTokens, right.settings.promptTokens],
    ["tokens to write", left.settings.generateTokens, right.settings.generateTokens],
    ["machine", left.result.machine, right.result.machine],
  ];
  return pairs.filter(([, a, b]) => a !== b).map(([name, a, b]) => `${name} ${a} → ${b}`);
}
