/** Numbers of repeated measurements: median, its 95 % interval by seeded bootstrap, mean, deviation. */

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

/** 95 % interval of the median (percentile bootstrap). */
export function medianInterval(values: readonly number[], seed = 1, resamples = 2000): Interval {
  if (values.length < 2) return { low: values[0] ?? NaN, high: values[0] ?? NaN };
  const random = seededRandom(seed);
  const medians = Array.from({ length: resamples }, () =>
    median(values.map(() => values[Math.floor(random() * values.length)] ?? NaN)),
  );
  return { low: quantile(medians, 0.025), high: quantile(medians, 0.975) };
}
