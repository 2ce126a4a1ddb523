// The geometry of curves: round ticks, gaps, what is kept of many points, the point under a cursor.
import { describe, expect, it } from "vitest";
import type { CurvePoint } from "./lineChart.ts";
import { nearestTo, pathOf, placeIn, smoothed, spanOf, thinned, ticksOf, weightFor, wholeTicks } from "./lineChart.ts";

const curve = (...values: number[]): CurvePoint[] => values.map((y, x) => ({ x, y }));

describe("a span", () => {
  it("leaves out what the scale cannot place", () => {
    expect(spanOf([3, Number.NaN, -1, Infinity, 2], "linear")).toEqual({ low: -1, high: 3 });
    expect(spanOf([3, 0, -1, 2], "log")).toEqual({ low: 2, high: 3 });
    expect(spanOf([0, Number.NaN], "log")).toBeNull();
  });

  it("gives a single value room", () => {
    expect(spanOf([4], "linear")).toEqual({ low: 2, high: 6 });
    expect(spanOf([0], "linear")).toEqual({ low: -1, high: 1 });
    expect(spanOf([4], "log")).toEqual({ low: 2, high: 8 });
  });

  it("places its ends at 0 and 1, and the mean of a decade's ends in its middle", () => {
    expect(placeIn({ low: 1, high: 100 }, "log", 10)).toBeCloseTo(0.5);
    expect(placeIn({ low: 1, high: 3 }, "linear", 2)).toBe(0.5);
  });
});

describe("ticks", () => {
  it("are round numbers inside the span", () => {
    expect(ticksOf({ low: 0, high: 0.31 }, "linear", 4)).toEqual([0, 0.1, 0.2, 0.3]);
    expect(ticksOf({ low: -3, high: 12 }, "linear", 4)).toEqual([0, 5, 10]);
    expect(ticksOf({ low: 1e-5, high: 2.2 }, "log", 8)).toEqual([1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1]);
    expect(ticksOf({ low: 0.9, high: 11 }, "log", 9)).toEqual([1, 2, 5, 10]);
  });

  it("are never more than a few too many, whatever the span", () => {
    for (const high of [1e-9, 0.003, 1, 7, 999, 123_456, 1e12])
      for (const kind of ["linear", "log"] as const)
        for (const low of [high / 1e9, high / 3, high * 0.999]) {
          const ticks = ticksOf({ low, high }, kind, 5);
          expect(ticks.length).toBeLessThanOrEqual(7);
          expect([...ticks].sort((a, b) => a - b)).toEqual(ticks);
        }
  });

  it("of steps are whole", () => {
    expect(wholeTicks({ low: 0, high: 3 }, 10)).toEqual([0, 1, 2, 3]);
    expect(wholeTicks({ low: 1, high: 200 }, 4)).toEqual([50, 100, 150, 200]);
  });
});

describe("smoothing", () => {
  it("keeps a constant and does not begin at zero", () => {
    expect(smoothed(curve(2, 2, 2), 0.9).map(({ y }) => Number(y.toFixed(9)))).toEqual([2, 2, 2]);
    expect(smoothed(curve(1, 3), 0.5)[1]?.y).toBeCloseTo(7 / 3);
  });

  it("leaves a gap, and counts on behind it", () => {
    const [first, gap, last] = smoothed(curve(1, Number.NaN, 1), 0.5);
    expect([first?.y, last?.y]).toEqual([1, 1]);
    expect(gap?.y).toBeNaN();
  });

  it("of one point is none", () => {
    expect([weightFor(1), weightFor(9)]).toEqual([0, 0.8]);
  });
});

describe("many points", () => {
  const many = Array.from({ length: 100_000 }, (_, x) => ({ x, y: x === 31_415 ? 99 : Math.sin(x) }));

  it("are thinned to a few for each column, with every spike", () => {
    const few = thinned(many, 300);
    expect(few.length).toBeLessThanOrEqual(301 * 5);
    expect(few).toContainEqual({ x: 31_415, y: 99 });
    expect([few[0], few.at(-1)]).toEqual([many[0], many.at(-1)]);
  });

  it("keep a gap", () => {
    const gapped = many.map((point) => (point.x === 50_000 ? { ...point, y: Number.NaN } : point));
    expect(thinned(gapped, 300).some(({ y }) => Number.isNaN(y))).toBe(true);
  });

  it("stay as they are where they fit", () => {
    expect(thinned(curve(1, 2, 3), 10)).toEqual(curve(1, 2, 3));
  });
});

it("draws gaps as gaps, and a point between two as a dot", () => {
  const plain = (v: number): number => v;
  const path = pathOf(curve(1, 2, Number.NaN, 3, 0, 4, 5), { x: plain, y: plain, kind: "log" });
  expect(path).toBe("M0.0 1.0L1.0 2.0M3.0 3.0h0M5.0 4.0L6.0 5.0");
});

it("finds the nearest point", () => {
  const points = [0, 10, 20, 40].map((x) => ({ x, y: 0 }));
  expect([-5, 4, 6, 29, 31, 99].map((x) => nearestTo(points, x))).toEqual([0, 0, 1, 2, 3, 3]);
  expect(nearestTo([], 3)).toBeNull();
});
