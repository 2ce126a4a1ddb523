/**
 * Two measurements against each other: one ratio with its interval, and a sentence that says no more than that. There is no
 * verdict where something disturbed one of them, where repeats are few, or where the interval holds 1.
 */
import type { BenchResult, BenchTest, Decision } from "./views/bench.ts";
import { LEAST_REPEATS } from "./views/bench.ts";
import type { MachineState, Reading } from "./views/machine.ts";

export const redReadings = ({ readings }: MachineState): readonly Reading[] =>
  readings.filter(({ state, device }) => state === "warning" && device === undefined);

export interface Ratio {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** The second against the first. */
export type Verdict =
  | { readonly kind: "faster" | "slower" | "even" | "too few"; readonly ratio: Ratio; readonly sentence: string }
  | { readonly kind: "not comparable"; readonly ratio: null; readonly sentence: string };

export interface Compared {
  readonly first: readonly number[];
  readonly second: readonly number[];
  /** Taken in turn: the repeats of a round belong together. */
  readonly paired: boolean;
  /** What disturbed them. */
  readonly red: readonly string[];
  /** Of a measurement that ended when it was decided; it counts for more than the interval, which is for one look only. */
  readonly decision?: Decision | undefined;
}

export function verdictOf({ first, second, paired, red, decision }: Compared): Verdict {
  if (red.length > 0) {
    const sentence = `Not comparable because of the conditions: ${[...new Set(red)].join("; ")}.`;
    return { kind: "not comparable", ratio: null, sentence };
  }
  const repeats = Math.min(first.length, second.length);
  const ratio = paired && first.length === second.length ? ratioOfPairs(first, second) : ratioOfMedians(first, second);
  if (repeats < LEAST_REPEATS) {
    const few = `${repeats} repeat${repeats === 1 ? "" : "s"}`;
    return { kind: "too few", ratio, sentence: `With ${few} nothing can be said: measure at least ${LEAST_REPEATS}.` };
  }
  if (decision === "even") return { kind: "even", ratio, sentence: "They differ by less than 2 %, if at all." };
  if (decision === "open") return { kind: "even", ratio, sentence: "No difference that can be told in this time." };
  if (ratio.low <= 1 && ratio.high >= 1)
    return { kind: "even", ratio, sentence: "No difference that these repeats can show." };
  return {
    kind: ratio.value > 1 ? "faster" : "slower",
    ratio,
    sentence: `The second is ${threeDigits(ratio.value)} × as fast.`,
  };
}

/** Both tests of one result are of the same rounds. */
export const compareTests = (
  first: { readonly result: Pick<BenchResult, "red">; readonly test: BenchTest },
  second: { readonly result: Pick<BenchResult, "red">; readonly test: BenchTest },
): Verdict =>
  verdictOf({
    first: first.test.samples,
    second: second.test.samples,
    paired: first.result === second.result,
    red: [...first.result.red, ...(first.result === second.result ? [] : second.result.red)],
    decision: first.result === second.result ? decisionBetween(first.test, second.test) : undefined,
  });

/** Subjects are decided against the first one of their result. */
export const decisionBetween = (
  first: Pick<BenchTest, "decision" | "subject">,
  second: Pick<BenchTest, "decision" | "subject">,
): Decision | undefined => (first.subject === 0 ? second.decision : second.subject === 0 ? first.decision : undefined);

const threeDigits = (value: number): string => (value >= 1000 ? String(Math.round(value)) : value.toPrecision(3));

const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);

function median(values: readonly number[]): number {
  const order = sorted(values);
  const middle = (order.length - 1) / 2;
  return ((order[Math.floor(middle)] ?? NaN) + (order[Math.ceil(middle)] ?? NaN)) / 2;
}

/**
 * The median of the ratios of each round, and where it lies in at least 95 of 100 cases: drift hits both of a pair alike and
 * leaves their ratio as it is.
 */
export function ratioOfPairs(first: readonly number[], second: readonly number[]): Ratio {
  const ratios = sorted(second.map((mine, i) => mine / (first[i] ?? NaN)));
  const out = pairsLeftOut(ratios.length);
  return { value: median(ratios), low: ratios[out] ?? NaN, high: ratios[ratios.length - 1 - out] ?? NaN };
}

/** The largest k with 2 · P(fewer than k + 1 heads in n throws of a coin) ≤ 5 %. */
function pairsLeftOut(n: number): number {
  let logProbability = -n * Math.LN2;
  let tail = 0;
  for (let heads = 0; heads <= n; heads++) {
    tail += Math.exp(logProbability);
    if (2 * tail > 0.05) return Math.max(0, heads - 1);
    logProbability += Math.log((n - heads) / (heads + 1));
  }
  return 0;
}

/**
 * Right to left. The interval is made of the ratios of every two repeats, one of each side, in order: as many are left out at
 * each end as the test of Mann and Whitney allows at 5 %. When the two do not differ, it therefore leaves 1 out in at most 5 of
 * 100 cases, whatever the distribution; of few repeats no ratio is left out.
 */
export function ratioOfMedians(left: readonly number[], right: readonly number[]): Ratio {
  const value = median(right) / median(left);
  const ratios = sorted(right.flatMap((mine) => left.map((other) => mine / other)));
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
