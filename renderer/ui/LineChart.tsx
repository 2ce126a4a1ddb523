/** Curves over steps: what each line is and its value under the cursor stand above it; pointer and arrow keys move the cursor. */
import type { KeyboardEvent, ReactNode } from "react";
import { useMemo } from "react";
import { count } from "./format.ts";
import type { CurvePoint, ScaleKind, Span } from "./lineChart.ts";
import { canPlace, nearestTo, pathOf, placeIn, spanOf, thinned, ticksOf, wholeTicks } from "./lineChart.ts";
import { useSize } from "./useSize.ts";
import styles from "./LineChart.module.css";

export interface Curve {
  readonly name: string;
  readonly points: readonly CurvePoint[];
  /** Which of the lines: colours belong to devices, so lines differ by their dashes and their grey. */
  readonly look: number;
  /** What the line was smoothed from, drawn faintly behind it. */
  readonly behind?: readonly CurvePoint[];
  /** A dot at each point: there are few, and they matter one by one. */
  readonly dots?: boolean;
}

export interface LineChartProps {
  /** "Loss" */
  readonly label: string;
  readonly curves: readonly Curve[];
  readonly kind?: ScaleKind;
  readonly height?: number;
  /** A value as text. */
  readonly text: (value: number) => string;
  /** The step that is looked at, in all charts that share it; null: the newest. */
  readonly cursor: number | null;
  readonly onCursor: (step: number | null) => void;
  /** Of all charts that share a cursor, so that it stands at one place in them; without it, of these curves. */
  readonly steps?: Span | null;
}

/** The steps of some curves. */
export const stepsOf = (curves: readonly Pick<Curve, "points">[]): Span | null =>
  spanOf(
    curves.flatMap(({ points }) => [points[0]?.x ?? Number.NaN, points.at(-1)?.x ?? Number.NaN]),
    "linear",
  );

const LOOKS = [
  { stroke: "var(--ink)", dash: undefined },
  { stroke: "var(--ink-2)", dash: "7 3" },
  { stroke: "var(--ink)", dash: "2 3" },
  { stroke: "var(--edge)", dash: undefined },
  { stroke: "var(--ink-2)", dash: "10 3 2 3" },
  { stroke: "var(--edge)", dash: "4 4" },
] as const;
/** As many lines as can be told apart. */
export const MOST_CURVES = LOOKS.length;
const lookOf = (look: number): (typeof LOOKS)[number] => LOOKS[look % LOOKS.length] ?? LOOKS[0];

const MARGIN = { left: 54, right: 12, top: 8, bottom: 20 } as const;
const SPACE_OF_TICK = { x: 90, y: 34 } as const;

export function LineChart(props: LineChartProps): ReactNode {
  const { label, curves, cursor, text } = props;
  const steps = props.steps ?? stepsOf(curves);
  const shownStep = steps === null ? null : (cursor ?? Math.round(steps.high));
  return (
    <figure className={styles["chart"]} aria-label={label}>
      <figcaption className={styles["legend"]}>
        <b>{label}</b>
        {curves.map(({ name, points, look }) => (
          <span key={name} className={styles["entry"]}>
            <svg width="22" height="8" aria-hidden="true">
              <path d="M0 4H22" stroke={lookOf(look).stroke} strokeDasharray={lookOf(look).dash} strokeWidth="2" />
            </svg>
            {name} <output>{valueAt(points, cursor, text)}</output>
          </span>
        ))}
        {shownStep === null ? null : <span className={styles["step"]}>step {count(shownStep)}</span>}
      </figcaption>
      <Plot {...props} />
    </figure>
  );
}

/** At the cursor, or the newest. */
function valueAt(points: readonly CurvePoint[], cursor: number | null, text: (value: number) => string): string {
  const place = cursor === null ? points.length - 1 : nearestTo(points, cursor);
  const y = place === null ? undefined : points[place]?.y;
  return y === undefined ? "–" : Number.isFinite(y) ? text(y) : "no number";
}

function Plot({
  label,
  curves,
  kind = "linear",
  height = 180,
  text,
  cursor,
  onCursor,
  steps = null,
}: LineChartProps): ReactNode {
  const [room, { width }] = useSize<HTMLDivElement>();
  const drawn = useMemo(
    () =>
      curves.map((curve) => ({
        ...curve,
        points: thinned(curve.points, Math.max(1, width)),
        behind: thinned(curve.behind ?? [], Math.max(1, width)),
      })),
    [curves, width],
  );
  const ys = spanOf(valuesOf(drawn), kind);
  const xs = steps ?? stepsOf(curves);
  const longest = curves.reduce<readonly CurvePoint[]>(
    (most, { points }) => (points.length > most.length ? points : most),
    [],
  );
  const at = cursor ?? xs?.high ?? 0;
  const said = curves.map(({ name, points }) => `${name} ${valueAt(points, cursor, text)}`).join(", ");
  const move = (place: number): void => onCursor(longest[Math.min(longest.length - 1, Math.max(0, place))]?.x ?? null);
  const onKey = (event: KeyboardEvent): void => {
    const here = nearestTo(longest, at) ?? 0;
    const far = event.shiftKey ? 10 : 1;
    if (event.key === "ArrowLeft") move(here - far);
    else if (event.key === "ArrowRight") move(here + far);
    else if (event.key === "Home") move(0);
    else if (event.key === "End") move(longest.length - 1);
    else if (event.key === "Escape" && cursor !== null) onCursor(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={room}
      className={styles["plot"]}
      style={{ height }}
      tabIndex={0}
      role="slider"
      aria-label={`${label} by step`}
      aria-valuemin={xs?.low ?? 0}
      aria-valuemax={xs?.high ?? 0}
      aria-valuenow={at}
      aria-valuetext={xs === null ? "nothing yet" : `step ${count(at)}: ${said}`}
      onKeyDown={onKey}
      onPointerMove={(event) => {
        if (xs === null) return;
        const share = (event.clientX - event.currentTarget.getBoundingClientRect().left - MARGIN.left) / inner(width);
        const place = nearestTo(longest, xs.low + Math.min(1, Math.max(0, share)) * (xs.high - xs.low));
        if (place !== null) move(place);
      }}
      onPointerLeave={() => onCursor(null)}
    >
      {xs === null || ys === null || width === 0 ? (
        <span className={styles["nothing"]}>Nothing yet</span>
      ) : (
        <Drawing {...{ drawn, xs, ys, kind, width, height, text, cursor }} />
      )}
    </div>
  );
}

/** Ticks are round: "0.300" reads "0.3", "5.00" reads "5". */
const roundText = (text: string): string => text.replace(/(\.\d*?)0+(?=$|\D)/u, "$1").replace(/\.(?=$|\D)/u, "");

const inner = (width: number): number => Math.max(1, width - MARGIN.left - MARGIN.right);

type Drawn = Omit<Curve, "behind"> & { readonly behind: readonly CurvePoint[] };

function* valuesOf(curves: readonly Drawn[]): Generator<number> {
  for (const { points, behind } of curves) {
    for (const { y } of points) yield y;
    for (const { y } of behind) yield y;
  }
}

interface DrawingProps {
  readonly drawn: readonly Drawn[];
  readonly xs: Span;
  readonly ys: Span;
  readonly kind: ScaleKind;
  readonly width: number;
  readonly height: number;
  readonly text: (value: number) => string;
  readonly cursor: number | null;
}

function Drawing({ drawn, xs, ys, kind, width, height, text, cursor }: DrawingProps): ReactNode {
  const base = height - MARGIN.bottom;
  const x = (value: number): number => MARGIN.left + placeIn(xs, "linear", value) * inner(width);
  const y = (value: number): number => base - placeIn(ys, kind, value) * (base - MARGIN.top);
  const path = (points: readonly CurvePoint[]): string => pathOf(points, { x, y, kind });
  const right = width - MARGIN.right;
  return (
    <svg width={width} height={height} className={styles["drawing"]} aria-hidden="true">
      <path d={`M${MARGIN.left} ${base}H${right}`} stroke="var(--line-strong)" />
      {ticksOf(ys, kind, (base - MARGIN.top) / SPACE_OF_TICK.y).map((tick) => (
        <g key={tick}>
          <path d={`M${MARGIN.left} ${y(tick)}H${right}`} stroke="var(--line)" />
          <text x={MARGIN.left - 6} y={y(tick) + 4} textAnchor="end">
            {roundText(text(tick))}
          </text>
        </g>
      ))}
      {wholeTicks(xs, inner(width) / SPACE_OF_TICK.x).map((tick) => (
        <text key={tick} x={x(tick)} y={height - 5} textAnchor={x(tick) > right - 16 ? "end" : "middle"}>
          {count(tick)}
        </text>
      ))}
      {drawn.map(({ name, behind, look }) => (
        <path key={name} className={styles["behind"]} d={path(behind)} stroke={lookOf(look).stroke} />
      ))}
      {drawn.map(({ name, points, look, dots = false }) => (
        <g key={name} data-curve={name}>
          <path
            className={styles["line"]}
            d={path(points)}
            stroke={lookOf(look).stroke}
            strokeDasharray={lookOf(look).dash}
          />
          {dots
            ? points.flatMap((point) =>
                canPlace(point.y, kind)
                  ? [<circle key={point.x} cx={x(point.x)} cy={y(point.y)} r="3" fill={lookOf(look).stroke} />]
                  : [],
              )
            : null}
        </g>
      ))}
      {cursor === null || cursor < xs.low || cursor > xs.high ? null : (
        <path d={`M${x(cursor)} ${MARGIN.top}V${base}`} stroke="var(--select)" />
      )}
    </svg>
  );
}
