/** Where the repeats of a benchmark stand on their line: a scale around them, never so narrow that noise looks like news. */
export interface DotPositions {
  readonly at: readonly number[];
  readonly band: readonly [number, number] | null;
  /** The values at both ends of the line; null without a dot. */
  readonly ends: readonly [number, number] | null;
}

/** The line covers at least this share of the middle value to both sides. */
const LEAST_SPREAD = 0.04;
/** Room for half a dot at both ends. */
export const MARGIN = 6;

export function dotPositions(
  values: readonly number[],
  interval: readonly [number, number] | null,
  width: number,
  /** Values of other lines that have the same scale. */
  among: readonly number[] = [],
): DotPositions {
  const all = [...values, ...(interval ?? []), ...among];
  if (values.length === 0) return { at: [], band: null, ends: null };
  const low = Math.min(...all);
  const high = Math.max(...all);
  const middle = (low + high) / 2;
  const half = Math.max((high - low) / 2, Math.abs(middle) * LEAST_SPREAD, 1e-9) * 1.1;
  // A rate below 0 is none, however wide the spread is.
  const ends = [Math.max(0, middle - half), middle + half] as const;
  const place = (value: number): number => MARGIN + ((value - ends[0]) / (ends[1] - ends[0])) * (width - 2 * MARGIN);
  return { at: values.map(place), band: interval === null ? null : [place(interval[0]), place(interval[1])], ends };
}
