/** A thread sweep as curves: which tests make one, and where their points stand. */
import { testName } from "../../../main/contract/benchText.ts";
import type { BenchKnee } from "../../../main/contract/views/bench.ts";
import type { BenchResult } from "./slice.ts";

export interface SweepPoint {
  readonly threads: number;
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

export interface SweepCurve {
  readonly name: string;
  readonly points: readonly SweepPoint[];
  readonly knee: BenchKnee | null;
}

const LEAST_POINTS = 3;

export function sweepsOf({
  tests,
  subjects,
  knees,
}: Pick<BenchResult, "tests" | "subjects" | "knees">): readonly SweepCurve[] {
  const curves = new Map<string, { name: string; points: SweepPoint[]; knee: BenchKnee | null }>();
  const models = new Set(subjects.map(({ model }) => model)).size;
  for (const test of tests) {
    const subject = subjects[test.subject];
    if (subject === undefined || test.samples.length === 0) continue;
    const { model, device, threads, title } = subject;
    const key = JSON.stringify([testName(test), model, device]);
    const name = [testName(test), ...(models > 1 ? [title] : []), device].join(", ");
    const curve = curves.get(key) ?? { name, points: [], knee: null };
    const { value, low, high } = test.rate;
    curve.points.push({ threads, rate: value, low: low ?? value, high: high ?? value });
    const knee = knees.find((each) => each.subject === test.subject && testName(each) === testName(test));
    curves.set(key, { ...curve, knee: curve.knee ?? knee ?? null });
  }
  return [...curves.values()]
    .filter(({ points }) => points.length >= LEAST_POINTS)
    .map((curve) => ({ ...curve, points: [...curve.points].sort((a, b) => a.threads - b.threads) }));
}

export interface SweepRoom {
  readonly width: number;
  readonly height: number;
}

/** Room for labels: left of the curve, and below it. */
export const SWEEP_MARGIN = { left: 44, right: 10, top: 8, bottom: 20 } as const;

/** From 0, so that twice as fast stands twice as high. */
export function sweepPlaces(points: readonly SweepPoint[], { width, height }: SweepRoom) {
  const { left, right, top, bottom } = SWEEP_MARGIN;
  const most = Math.max(1e-9, ...points.map(({ high }) => high));
  const [first, last] = [points[0]?.threads ?? 1, points.at(-1)?.threads ?? 1];
  const x = (threads: number): number =>
    left + ((threads - first) / Math.max(1, last - first)) * (width - left - right);
  const y = (rate: number): number => height - bottom - (rate / most) * (height - top - bottom);
  return { x, y, most };
}
