/** Where the repeats of a benchmark stand on their line: a scale around them, never so narrow that noise looks like news. */
export interface DotPositions {
  readonly at: readonly number[];
  readonly band: readonly [number, number] | null;
}

/** The line covers at least this share of the middle value to both sides. */
const LEAST_SPREAD = 0.04;

export function dotPositions(
  values: readonly number[],
  interval: readonly [number, number] | null,
  width: number,
): DotPositions {
  const all = [...values, ...(interval ?? [])];
  if (all.length === 0) return { at: [], band: null };
  const low = Math.min(...all);
  const high = Math.max(...all);
  const middle = (low + high) / 2;
  const half = Math.max((high - low) / 2, Math.abs(middle) * LEAST_SPREAD, 1e-9) * 1.1;
  const margin = 6;
  const place = (value: number): number => margin + ((value - (middle - half)) / (2 * half)) * (width - 2 * margin);
  return { at: values.map(place), band: interval === null ? null : [place(interval[0]), place(interval[1])] };
}
