/**
 * How values are spread: bars over the logarithm of the counts, so that one outlier stays in sight
 * beside a million others.
 */
import type { ReactNode } from "react";
import { count, significant } from "./format.ts";
import styles from "./Histogram.module.css";

export interface HistogramProps {
  readonly label: string;
  readonly from: number;
  readonly to: number;
  readonly counts: readonly number[];
}

const HEIGHT = 64;

/** Height of each bar as a share: none for nothing, and something for a single value. */
export function barShares(counts: readonly number[]): readonly number[] {
  const most = Math.log1p(counts.reduce((a, b) => Math.max(a, b), 0));
  return counts.map((n) => (n === 0 ? 0 : Math.max(0.04, Math.log1p(n) / most)));
}

/** Four digits; three and an exponent where the number is tiny or huge. */
export function numberText(value: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || size === 0 || (size >= 1e-4 && size < 1e6)) return significant(value, 4);
  return value.toExponential(2).replaceAll("-", "−");
}

const barText = (from: number, width: number, n: number): string =>
  `${numberText(from)} to ${numberText(from + width)}: ${count(n)}`;

export function Histogram({ label, from, to, counts }: HistogramProps): ReactNode {
  const shares = barShares(counts);
  const width = to - from;
  return (
    <figure className={styles["histogram"]}>
      <svg
        width="100%"
        height={HEIGHT}
        viewBox={`0 0 ${counts.length} 1`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        {shares.map((share, i) => (
          <rect key={i} x={i + 0.06} y={1 - share} width={0.88} height={share} fill="var(--bar)">
            <title>{barText(from + (i * width) / counts.length, width / counts.length, counts[i] ?? 0)}</title>
          </rect>
        ))}
        {from < 0 && to > 0 ? (
          <path
            d={`M${(counts.length * -from) / width} 0v1`}
            stroke="var(--line-strong)"
            strokeDasharray="2 2"
            vectorEffect="non-scaling-stroke"
          />
        ) : null}
      </svg>
      <figcaption className={styles["ends"]}>
        <span>{numberText(from)}</span>
        <span>log counts</span>
        <span>{numberText(to)}</span>
      </figcaption>
    </figure>
  );
}
