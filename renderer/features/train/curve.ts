/** The course of a run as columns that grow: long runs are thinned while they go on, so that a day of steps fits. */
import type { TrainItem, TrainRun } from "../../../main/contract/views/train.ts";
import type { CurvePoint, ScaleKind } from "../../ui/lineChart.ts";
import { smoothed, weightFor } from "../../ui/lineChart.ts";

type Steps = Extract<TrainItem, { kind: "steps" }>;
const COLUMNS = ["step", "loss", "rate", "norm"] as const;
type CurveColumn = Exclude<(typeof COLUMNS)[number], "step">;
export type TrainCurve = { readonly [C in (typeof COLUMNS)[number]]: readonly number[] };

export const NO_CURVE: TrainCurve = { step: [], loss: [], rate: [], norm: [] };

/** Points that are kept, about as many as a picture has columns; half of them are left when there are more. */
export const MOST_POINTS = 2048;

/** Two neighbours become one: of the loss their mean, of the rest the later. A number that is none stays in sight. */
function halved(curve: TrainCurve): TrainCurve {
  const later = (column: readonly number[]): readonly number[] =>
    column.filter((_, i) => i % 2 === 1 || i === column.length - 1);
  const mean = (column: readonly number[]): readonly number[] =>
    later(column).map((value, i) => {
      const before = column[2 * i];
      return 2 * i + 1 < column.length && before !== undefined ? (before + value) / 2 : value;
    });
  return { step: later(curve.step), loss: mean(curve.loss), rate: later(curve.rate), norm: later(curve.norm) };
}

/** Ever more steps; what a run says again after it went back to a checkpoint takes the place of what it said before. */
export function withSteps(curve: TrainCurve, item: Pick<Steps, "step" | "loss" | "rate" | "norm">): TrainCurve {
  const first = item.step[0];
  const kept = first === undefined ? curve.step.length : lengthBefore(curve.step, first);
  const joined = Object.fromEntries(
    COLUMNS.map((name) => [name, [...curve[name].slice(0, kept), ...item[name]]]),
  ) as unknown as TrainCurve;
  let short = joined;
  while (short.step.length > MOST_POINTS) short = halved(short);
  return short;
}

function lengthBefore(steps: readonly number[], first: number): number {
  let length = steps.length;
  while (length > 0 && (steps[length - 1] ?? 0) >= first) length -= 1;
  return length;
}

export const curveOf = ({ curve }: Pick<TrainRun, "curve">): TrainCurve => ({
  ...{ step: [...curve.step], loss: [...curve.loss], rate: [...curve.rate], norm: [...curve.norm] },
});

/** A column as points. Where a value was not asked for there is none; the loss keeps its gaps: a number that is none is news. */
export function pointsOf(curve: TrainCurve, column: CurveColumn): readonly CurvePoint[] {
  const points: CurvePoint[] = [];
  const values = curve[column];
  // Ten times a second for each curve: a plain loop.
  curve.step.forEach((x, i) => {
    const y = values[i] ?? Number.NaN;
    if (column === "loss" || !Number.isNaN(y)) points.push({ x, y });
  });
  return points;
}

/** How curves are looked at. */
export interface CurveView {
  readonly scale: ScaleKind;
  /** About how many points a smoothed value forgets; 1: as it is. */
  readonly smoothing: number;
}

/** Of its points: smoothed over more, a short run would be all beginning. */
const LARGEST_SHARE = 1 / 8;

/** The loss as a line. On a scale of factors it is a mean of factors: the first losses would drown all others. */
export function smoothLoss(curve: TrainCurve, { scale, smoothing }: CurveView): readonly CurvePoint[] {
  const points = pointsOf(curve, "loss");
  const weight = weightFor(Math.min(smoothing, points.length * LARGEST_SHARE));
  if (scale === "linear" || weight <= 0) return smoothed(points, weight);
  const logs = smoothed(
    points.map(({ x, y }) => ({ x, y: y > 0 ? Math.log(y) : Number.NaN })),
    weight,
  );
  return logs.map(({ x, y }) => ({ x, y: Math.exp(y) }));
}
