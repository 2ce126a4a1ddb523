import { describe, expect, it } from "vitest";
import { panRange, rulerStep, sliceAt, sumStep, totalRange, visibleSlices, zoomRange } from "./timeline.ts";
import { labelRoom } from "./timelineDrawing.ts";

/** Ten slices of one millisecond each, one after the other, on lane 0; one long one on lane 1. */
const slices = {
  start: Float64Array.from([...Array.from({ length: 10 }, (_, i) => i * 0.001), 0.0005].sort((a, b) => a - b)),
  seconds: new Float32Array(11).fill(0.001),
  lane: new Uint8Array(11),
  step: Uint32Array.from({ length: 11 }, (_, i) => (i < 6 ? 0 : 1)),
  op: Uint32Array.from({ length: 11 }, (_, i) => (i % 2) + 1),
  label: new Uint32Array(11),
  bytes: new Float64Array(11).fill(100),
  nodeStart: new Uint32Array(12),
  nodes: new Uint32Array(0),
};
slices.seconds[1] = 0.009;
slices.lane[1] = 1;
const strings = ["", "linear", "attention"];
const steps = {
  start: new Float64Array(2),
  seconds: new Float32Array(2),
  tokens: new Uint32Array(2),
  decode: new Uint8Array(2),
};

describe("the timeline", () => {
  it("shows what is in view, a long slice that began before it too", () => {
    const drawn = visibleSlices({ slices }, { from: 0.005, to: 0.0072 }, 1000);
    expect(drawn.filter(({ lane }) => lane === 0).map(({ slice }) => slice)).toEqual([5, 6, 7, 8]);
    expect(drawn.filter(({ lane }) => lane === 1).map(({ slice }) => slice)).toEqual([1]);
  });

  it("draws what is too thin as one, and loses none", () => {
    const drawn = visibleSlices({ slices }, { from: 0, to: 20 }, 1000);
    expect(drawn.length).toBeLessThan(4);
    expect(drawn.reduce((n, { count }) => n + count, 0)).toBe(11);
  });

  it("finds the slice under the pointer, or a near one", () => {
    expect(sliceAt({ slices }, 1, 0.004, 0)).toBe(1);
    expect(sliceAt({ slices }, 0, 0.0035, 0)).toBe(4);
    expect(sliceAt({ slices }, 0, 0.0105, 0.001)).toBe(10);
    expect(sliceAt({ slices }, 0, 0.05, 0.001)).toBe(-1);
  });

  it("zooms around a point and stays within the recording", () => {
    const whole = totalRange({ slices, steps });
    expect(whole.to).toBeCloseTo(0.01);
    const half = zoomRange(whole, 0.5, 0.005, whole);
    expect(half.from).toBeCloseTo(0.0025);
    expect(half.to).toBeCloseTo(0.0075);
    expect(panRange(half, 1, whole).to).toBeCloseTo(whole.to);
    expect(zoomRange(half, 100, 0.005, whole)).toEqual(whole);
  });

  it("sums up a step by op, the longest first", () => {
    const sums = sumStep({ slices, strings }, 0);
    expect(sums.map(({ op, count }) => [op, count])).toEqual([
      ["attention", 3],
      ["linear", 3],
    ]);
    expect(sums[0]!.seconds).toBeCloseTo(0.011);
    expect(sums[0]!.bytes).toBe(300);
  });

  it("has round marks", () => {
    expect(rulerStep(0.1, 8)).toBeCloseTo(0.02);
    expect(rulerStep(7, 5)).toBe(2);
  });
});

describe("the names of the lanes", () => {
  it("have room, the longest that a recording has as well, and no more than that for one out of bounds", () => {
    const room = (title: string): number => labelRoom([{ title, device: "ane" }]);
    // Eleven pixels high, a letter is six wide at most on average; ten stand before the name.
    for (const title of ["CPU", "Neural Engine, attributed", "Copies in and out, clocked"])
      expect(room(title)).toBeGreaterThanOrEqual(10 + 6 * title.length);
    expect(room("x".repeat(500))).toBeLessThan(200);
  });
});
