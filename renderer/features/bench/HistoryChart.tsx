/** One setting over time: a dot and its interval for each measurement, and a line where the workbench's version changed. */
import type { ReactNode } from "react";
import { useState } from "react";
import { Note } from "../../ui/Card.tsx";
import { ChoiceField } from "../../ui/fields.tsx";
import { significant } from "../../ui/format.ts";
import { useSize } from "../../ui/useSize.ts";
import type { HistoryPoint, HistorySeries } from "./history.ts";

const HEIGHT = 150;
const LEFT = 60;
const RIGHT = 12;
const TOP = 16;
const BOTTOM = 20;

export function HistoryChart({ series }: { readonly series: readonly HistorySeries[] }): ReactNode {
  const [chosen, setChosen] = useState("");
  const shown = series.find(({ name }) => name === chosen) ?? series[0];
  if (shown === undefined) return null;
  return (
    <>
      <ChoiceField
        label="Over time"
        value={shown.name}
        options={series.map(({ name, points }) => ({ id: name, title: `${name} (${points.length})` }))}
        onChange={setChosen}
      />
      <Chart {...shown} />
      {shown.points.some(({ red }) => red) ? <Note>Hollow dots were measured in bad conditions.</Note> : null}
    </>
  );
}

const day = (at: number): string => new Date(at).toLocaleDateString([], { day: "numeric", month: "short" });
const hour = (at: number): string => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

function Chart({ name, points }: HistorySeries): ReactNode {
  const [room, { width }] = useSize<HTMLDivElement>();
  const most = Math.max(1e-9, ...points.map(({ high }) => high));
  // Equal steps: a week without a measurement is no empty picture.
  const x = (i: number): number => LEFT + 8 + (i / Math.max(1, points.length - 1)) * (width - LEFT - RIGHT - 16);
  const y = (rate: number): number => HEIGHT - BOTTOM - (rate / most) * (HEIGHT - TOP - BOTTOM);
  const base = HEIGHT - BOTTOM;
  const text = points.map(({ at, rate }) => `${day(at)}: ${significant(rate)}`).join(", ");
  const [first, last] = [points[0], points.at(-1)];
  // Two ends on one day are told apart by their hours.
  const isOneDay = first !== undefined && last !== undefined && day(first.at) === day(last.at);
  const when = (at: number): string => (isOneDay ? `${day(at)} ${hour(at)}` : day(at));
  return (
    <div ref={room}>
      <svg
        width={width}
        height={HEIGHT}
        style={{ display: "block" }}
        role="img"
        aria-label={`${name}, tokens per second over time: ${text}`}
      >
        <path d={`M${LEFT} ${base}H${width - RIGHT}`} stroke="var(--line-strong)" />
        {[most, most / 2].map((value) => (
          <g key={value}>
            <path d={`M${LEFT} ${y(value)}H${width - RIGHT}`} stroke="var(--line)" />
            <text x={LEFT - 6} y={y(value) + 4} textAnchor="end" fontSize="11" fill="var(--ink-2)">
              {significant(value, 2)}
              {value === most ? " t/s" : ""}
            </text>
          </g>
        ))}
        {points.map((point, i) => {
          const before = points[i - 1];
          const isNew = before !== undefined && before.version !== point.version;
          const line = isNew ? (x(i - 1) + x(i)) / 2 : 0;
          return (
            <g key={point.at}>
              {isNew ? (
                <>
                  <path d={`M${line} ${TOP - 4}V${base}`} stroke="var(--line-strong)" strokeDasharray="3 3" />
                  <text x={line + 4} y={TOP - 5} fontSize="11" fill="var(--ink-2)">
                    {point.version}
                  </text>
                </>
              ) : null}
              <Dot point={point} x={x(i)} y={y} />
            </g>
          );
        })}
        {first === undefined || last === undefined ? null : (
          <>
            <text x={LEFT} y={HEIGHT - 5} fontSize="11" fill="var(--ink-2)">
              {when(first.at)}
            </text>
            <text x={width - RIGHT} y={HEIGHT - 5} textAnchor="end" fontSize="11" fill="var(--ink-2)">
              {when(last.at)}
            </text>
          </>
        )}
      </svg>
    </div>
  );
}

function Dot({
  point,
  x,
  y,
}: {
  readonly point: HistoryPoint;
  readonly x: number;
  readonly y: (rate: number) => number;
}): ReactNode {
  const { at, rate, low, high, red, version } = point;
  return (
    <g>
      <title>{`${new Date(at).toLocaleString()}, ${significant(rate)} t/s, rlx ${version}`}</title>
      <path d={`M${x} ${y(low)}V${y(high)}`} stroke="var(--ink-2)" />
      <circle cx={x} cy={y(rate)} r="3.5" stroke="var(--ink)" fill={red ? "var(--raised)" : "var(--ink)"} />
    </g>
  );
}
