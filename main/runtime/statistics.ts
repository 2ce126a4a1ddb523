/** Numbers of repeated measurements: median with its 95 % interval, mean, deviation. */

/** Mulberry32: small, seeded, good enough to draw resamples. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

function sorted(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b);
}

export function quantile(values: readonly number[], share: number): number {
  const order = sorted(values);
  if (order.length === 0) return NaN;
  const place = share * (order.length - 1);
  const low = Math.floor(place);
  const a = order[low] ?? NaN;
  const b = order[Math.min(low + 1, order.length - 1)] ?? a;
  return a + (b - a) * (place - low);
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);
export const mean = (values: readonly number[]): number => values.reduce((sum, x) => sum + x, 0) / values.length;

/** With n - 1; 0 for a single value. */
export function deviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, x) => sum + (x - centre) ** 2, 0) / (values.length - 1));
}

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/**
 * Where the median lies in at least 95 of 100 cases, whatever the distribution: from the k-th smallest to the k-th largest
 * value. The median is below the k-th smallest only when fewer than k of n throws of a coin say "below", so k is the largest
 * whose two tails have 5 %. Fewer than six values have no such k, and get their range.
 */
export function medianInterval(values: readonly number[]): Interval {
  const order = sorted(values);
  const k = Math.max(1, tailRank(order.length));
  return { low: order[k - 1] ?? NaN, high: order[order.length - k] ?? NaN };
}

/** The largest k with 2 · P(fewer than k heads in n throws) ≤ 5 %; 0 when there is none. Logarithms, because 2^-n underflows. */
function tailRank(n: number): number {
  let logProbability = -n * Math.LN2;
  let tail = 0;
  for (let heads = 0; heads <= n; heads++) {
    tail += Math.exp(logProbability);
    if (2 * tail > 0.05) return heads;
    logProbability += Math.log((n - heads) / (heads + 1));
  }
  return 0;
}
