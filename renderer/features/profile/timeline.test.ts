import { describe, expect, it } from "vitest";
import { madeRecording } from "../../../main/testing/recordings.ts";
import { tracksOf } from "../../../main/contract/recordings/tracks.ts";
import {
  columnsOf,
  joinedRange,
  panRange,
  rulerStep,
  sliceAt,
  totalRange,
  visibleSlices,
  zoomRange,
} from "./timeline.ts";
import { labelRoom, layoutTimeline, rowAt } from "./timelineLayout.ts";
import { describeAt, describeRange } from "./timelineText.ts";

/** Ten slices of one millisecond each, one after the other, on lane 0; one long one on lane 1. */
const slices = {
  start: Float64Array.from([...Array.from({ length: 10 }, (_, i) => i * 0.001), 0.0005].sort((a, b) => a - b)),
  seconds: new Float32Array(11).fill(0.001),
  lane: new Uint8Array(11),
};
slices.seconds[1] = 0.009;
slices.lane[1] = 1;
const whole = { from: 0, to: 0.01 };

describe("the timeline", () => {
  it("shows what is in view, a long slice that began before it too", () => {
    const seen = (lane: number) =>
      visibleSlices(slices, lane, { from: 0.005, to: 0.0072 }, 1000).map(({ slice }) => slice);
    expect(seen(0)).toEqual([5, 6, 7, 8]);
    expect(seen(1)).toEqual([1]);
  });

  it("draws what is too thin as one, and loses none", () => {
    const drawn = [0, 1].flatMap((lane) => visibleSlices(slices, lane, { from: 0, to: 20 }, 1000));
    expect(drawn.length).toBeLessThan(4);
    expect(drawn.reduce((n, { count }) => n + count, 0)).toBe(11);
  });

  it("finds the slice under the pointer, or a near one", () => {
    expect(sliceAt(slices, 1, 0.004, 0)).toBe(1);
    expect(sliceAt(slices, 0, 0.0035, 0)).toBe(4);
    expect(sliceAt(slices, 0, 0.0105, 0.001)).toBe(10);
    expect(sliceAt(slices, 0, 0.05, 0.001)).toBe(-1);
  });

  it("zooms around a point and stays within the recording", () => {
    const half = zoomRange(whole, 0.5, 0.005, whole);
    expect(half.from).toBeCloseTo(0.0025);
    expect(half.to).toBeCloseTo(0.0075);
    expect(panRange(half, 1, whole).to).toBeCloseTo(whole.to);
    const all = zoomRange(half, 100, 0.005, whole);
    expect(all.from).toBe(whole.from);
    expect(all.to).toBeCloseTo(whole.to, 12);
  });

  it("has room for a second recording wherever that begins", () => {
    expect(joinedRange(whole, { from: 0, to: 0.02 }, -0.005)).toEqual({ from: -0.005, to: 0.015 });
    expect(joinedRange(whole, whole, 0.002)).toEqual({ from: 0, to: 0.012 });
  });

  it("has round marks", () => {
    expect(rulerStep(0.1, 8)).toBeCloseTo(0.02);
    expect(rulerStep(7, 5)).toBe(2);
  });
});

describe("the lanes of a recording", () => {
  const made = madeRecording({ seed: 4, tokens: 3 });
  const tracks = tracksOf(made);

  it("draw every piece, the host's and the threads' too", () => {
    for (const track of tracks.filter(({ kind }) => kind !== "tokens" && kind !== "memory")) {
      const columns = columnsOf(made, track);
      const drawn = visibleSlices(columns, 0, totalRange(made), 900);
      expect(drawn.reduce((n, { count }) => n + count, 0)).toBe(columns.start.length);
      expect(columnsOf(made, track)).toBe(columns);
    }
  });

  it("say what stands under the pointer, each its own", () => {
    const at = made.slices.start[3]! + made.slices.seconds[3]! * 0.1;
    const said = tracks.map((track) => describeAt(made, track, at, 0));
    expect(said[0]).toMatch(/^prompt, 16 tokens: /);
    expect(said[2]).toMatch(/^add blk\.0\/attention: .*, .* at .*\/s$/);
    expect(said[3]).toMatch(/; this thread worked .*% of it$/);
    expect(said[5]).toMatch(/^engine 100\s?MB, of it caches and states /);
    const gap = made.steps.start[1]! - 1e-9;
    expect(describeAt(made, tracks[1]!, gap, 1e-6)).toMatch(/^JavaScript between steps: /);
    const shared = madeRecording({ seed: 4, attributed: true });
    expect(describeAt(shared, tracksOf(shared)[2]!, shared.slices.start[0]!, 1e-9)).toMatch(/: ~.*, attributed$/);
  });

  it("say which steps are in view, where not all are", () => {
    const { start, seconds } = made.steps;
    expect(describeRange(made, totalRange(made))).toBe("");
    expect(describeRange(made, { from: start[1]!, to: start[2]! + seconds[2]! / 2 })).toBe(
      `Steps 2 to 3 of ${start.length} in view; 0 shows all`,
    );
    expect(describeRange(made, { from: start[0]!, to: seconds[0]! / 2 })).toMatch(/^Step 1 of /);
    expect(describeRange(made, { from: 1e6, to: 2e6 })).toMatch(/^No step in view, of /);
  });

  it("stand below each other without overlap, at least 240 pixels high, each found by its height", () => {
    for (const least of [240, 0]) {
      const layout = layoutTimeline(tracks, least);
      expect(layout.height).toBeGreaterThanOrEqual(least);
      layout.rows.forEach(({ top, height }, i) => {
        expect(rowAt(layout, top + height / 2)).toBe(i);
        expect(top).toBeGreaterThan(i === 0 ? 0 : layout.rows[i - 1]!.top + layout.rows[i - 1]!.height);
        expect(top + height).toBeLessThan(layout.height);
      });
      expect(rowAt(layout, 2)).toBe(-1);
    }
    expect(layoutTimeline(tracks.slice(0, 3)).rows[2]!.height).toBe(40);
  });

  it("have names with room, the longest that a recording has as well, and no more than that for one out of bounds", () => {
    const room = (title: string): number => labelRoom([{ title }]);
    // Eleven pixels high, a letter is six wide at most on average; ten stand before the name.
    for (const title of ["CPU", "Neural Engine, attributed", "Copies in and out, clocked"])
      expect(room(title)).toBeGreaterThanOrEqual(10 + 6 * title.length);
    expect(room("x".repeat(500))).toBeLessThan(200);
  });
});
