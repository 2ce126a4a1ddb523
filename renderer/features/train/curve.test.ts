// The course of a run: it grows, is thinned, keeps numbers that are none, and goes back with its run.
import { expect, it } from "vitest";
import type { TrainCurve } from "./curve.ts";
import { MOST_POINTS, NO_CURVE, pointsOf, smoothLoss, withSteps } from "./curve.ts";
import { normShare } from "./norms.ts";

const part = (first: number, losses: readonly number[], norm = 1) => ({
  step: Float64Array.from(losses, (_, i) => first + i),
  loss: Float64Array.from(losses),
  rate: Float64Array.from(losses, () => 0.1),
  norm: Float64Array.from(losses, () => norm),
});
const grown = (...parts: readonly ReturnType<typeof part>[]): TrainCurve => parts.reduce(withSteps, NO_CURVE);

it("grows by what comes", () => {
  const curve = grown(part(1, [3, 2]), part(3, [1]));
  expect(pointsOf(curve, "loss")).toEqual([
    { x: 1, y: 3 },
    { x: 2, y: 2 },
    { x: 3, y: 1 },
  ]);
});

it("says a step once where a run went back", () => {
  expect(grown(part(1, [9, 8, 7]), part(2, [5, 4, 3])).step).toEqual([1, 2, 3, 4]);
});

it("leaves out what was not asked for, and keeps a loss that is no number as a gap", () => {
  const curve = grown(part(1, [2, Number.NaN, 1], Number.NaN));
  expect(pointsOf(curve, "norm")).toEqual([]);
  expect(pointsOf(curve, "loss").map(({ y }) => y)).toEqual([2, Number.NaN, 1]);
});

it("stays small however long a run is, and ends where the run is", () => {
  let curve = NO_CURVE;
  for (let first = 1; first < 50_000; first += 1000) curve = withSteps(curve, part(first, Array<number>(1000).fill(4)));
  expect(curve.step.length).toBeLessThanOrEqual(MOST_POINTS);
  expect(curve.step.at(-1)).toBe(50_000);
  expect(new Set(curve.loss)).toEqual(new Set([4]));
  expect([...curve.step].sort((a, b) => a - b)).toEqual(curve.step);
});

it("keeps a number that is none when it is thinned", () => {
  const losses = Array<number>(MOST_POINTS + 1).fill(1);
  losses[MOST_POINTS] = Number.NaN;
  expect(grown(part(1, losses)).loss.at(-1)).toBeNaN();
});

it("draws lengths over powers of ten", () => {
  const norms = [100, 1, 1e-9, Number.NaN].map((norm, i) => ({ layer: `${i}`, norm }));
  expect(norms.map(({ norm }) => Number(normShare(norm, norms).toFixed(3)))).toEqual([1, 0.667, 0, 0]);
});

it("is smoothed by factors on a scale of factors, and not beyond an eighth of its points", () => {
  const fall = grown(
    part(
      1,
      Array.from({ length: 400 }, (_, i) => 0.9 ** i),
    ),
  );
  const last = (scale: "log" | "linear"): number =>
    Math.log(smoothLoss(fall, { scale, smoothing: 20 }).at(-1)?.y ?? 0) / Math.log(0.9);
  expect(last("log")).toBeCloseTo(399 - 9.5, 1);
  expect(last("linear")).toBeLessThan(last("log"));
  const short = grown(part(1, [4, 2, 1]));
  expect(smoothLoss(short, { scale: "log", smoothing: 100 }).map(({ y }) => Math.round(y))).toEqual([4, 2, 1]);
});
