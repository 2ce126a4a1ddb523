/** The repeats of a test on a line. */
import type { ReactNode } from "react";
import { significant } from "../../ui/format.ts";
import { useSize } from "../../ui/useSize.ts";
import { dotPositions, MARGIN } from "./dots.ts";

/** Each repeat as a dot, so that an outlier is seen and not averaged away; the interval as a band. */
export function Dots({
  rates,
  warmups,
  interval,
  row,
}: {
  readonly rates: readonly number[];
  readonly warmups: readonly number[];
  readonly interval: readonly [number, number] | null;
  /** In a row of a table: without the ends, on the scale of all of these values. */
  readonly row?: { readonly among: readonly number[] };
}): ReactNode {
  const [room, { width }] = useSize<HTMLDivElement>();
  const { at, band, ends } = dotPositions([...rates, ...warmups], interval, width, row?.among);
  const isRow = row !== undefined;
  return (
    <div ref={room}>
      <svg
        width={width}
        height={isRow ? 26 : 40}
        style={{ display: "block" }}
        role="img"
        aria-label={
          rates.length === 0
            ? "No repeats yet"
            : `Repeats: ${rates.map((value) => significant(value)).join(", ")} tokens per second`
        }
      >
        <path d={`M0 13h${width}`} stroke="var(--line-strong)" />
        {(isRow ? null : ends)?.map((value, i) => (
          <g key={i}>
            <path d={`M${i === 0 ? MARGIN : width - MARGIN} 10v12`} stroke="var(--line-strong)" />
            <text
              x={i === 0 ? MARGIN : width - MARGIN}
              y="36"
              textAnchor={i === 0 ? "start" : "end"}
              fontSize="11"
              fill="var(--ink-2)"
            >
              {significant(value)}
              {i === 0 ? "" : " t/s"}
            </text>
          </g>
        ))}
        {band === null ? null : (
          <rect
            x={band[0]}
            y="6"
            width={Math.max(1, band[1] - band[0])}
            height="14"
            rx="3"
            fill="var(--line-strong)"
            opacity=".7"
          />
        )}
        {at.map((x, i) => (
          <circle
            key={i}
            cx={x}
            cy="13"
            r="3.5"
            {...(i < rates.length ? { fill: "var(--ink)" } : { fill: "none", stroke: "var(--ink-2)" })}
          />
        ))}
      </svg>
    </div>
  );
}
