/** A small line of recent values over a base line. */
import type { ReactNode } from "react";

export function sparklinePath(values: readonly number[], width: number, height: number): string {
  if (values.length < 2) return "";
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  // From zero for speeds that vary little, so that noise does not look like a mountain.
  if (low > 0) low = 0;
  const span = high > low ? high - low : 1;
  return values
    .map(
      (value, i) =>
        `${i === 0 ? "M" : "L"}${((i / (values.length - 1)) * width).toFixed(1)} ${(height - 2 - ((value - low) / span) * (height - 4)).toFixed(1)}`,
    )
    .join("");
}

export function Sparkline({
  values,
  label,
}: {
  readonly values: readonly number[];
  readonly label: string;
}): ReactNode {
  return (
    <svg width="100%" height="70" viewBox="0 0 256 70" preserveAspectRatio="none" role="img" aria-label={label}>
      <path
        d={sparklinePath(values, 256, 68)}
        fill="none"
        stroke="var(--ink)"
        strokeWidth="1.6"
        vectorEffect="non-scaling-stroke"
      />
      <path d="M0 69.5h256" stroke="var(--line)" vectorEffect="non-scaling-stroke" />
    </svg>
  );
}
