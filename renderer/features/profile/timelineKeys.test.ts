import { describe, expect, it } from "vitest";
import { madeRecording } from "../../../main/testing/recordings.ts";
import { tracksOf } from "../../../main/contract/recordings/tracks.ts";
import { totalRange } from "./timeline.ts";
import type { KeyedView } from "./timelineKeys.ts";
import { effectOf } from "./timelineKeys.ts";

const profile = madeRecording({ seed: 6, tokens: 5 });
const whole = totalRange(profile);
const view: KeyedView = {
  ...{ profile, whole, range: { from: 0, to: whole.to / 2 } },
  ...{ tracks: tracksOf(profile).length, step: 2, selection: null },
};
const press = (key: string, changes: Partial<KeyedView> = {}, shiftKey = false) =>
  effectOf({ ...view, ...changes }, { key, shiftKey });
const startOf = (step: number): number => profile.steps.start[step]!;

describe("keys of the timeline", () => {
  it("zoom, pan and fit", () => {
    const span = ({ from, to }: { from: number; to: number }) => to - from;
    for (const key of ["w", "W", "+", "="]) expect(span(press(key)!.range!)).toBeCloseTo(span(view.range) * 0.7);
    for (const key of ["s", "-"]) expect(span(press(key)!.range!)).toBeCloseTo(span(view.range) / 0.7);
    expect(press("d")!.range!.from).toBeCloseTo(span(view.range) * 0.2);
    expect(press("a")!.range!.from).toBe(0);
    for (const key of ["0", "f"]) expect(press(key)).toEqual({ range: whole });
    expect(press("x")).toBeUndefined();
  });

  it("walk from step to step, and bring one into view", () => {
    expect(press("ArrowRight")!.step).toBe(3);
    expect(press("ArrowLeft", { step: 0 })!.step).toBe(0);
    const far = press("ArrowRight", { step: 4, range: { from: 0, to: startOf(1) } })!;
    expect(far.step).toBe(5);
    expect(far.range!.from).toBeLessThanOrEqual(startOf(5));
    expect(far.range!.to).toBeGreaterThan(startOf(5));
  });

  it("select from the chosen step on, step by step and lane by lane, and let go", () => {
    const all = { first: 0, last: view.tracks - 1 };
    const one = press("ArrowRight", {}, true)!.selection!;
    expect(one).toEqual({ from: startOf(2), to: startOf(3), ...all });
    expect(press("m")!.selection).toEqual(one);
    const two = press("ArrowRight", { selection: one }, true)!.selection!;
    expect(two).toEqual({ from: startOf(2), to: startOf(4), ...all });
    expect(press("ArrowLeft", { selection: two }, true)!.selection).toEqual(one);
    expect(press("ArrowLeft", { selection: one }, true)!.selection).toEqual(one);
    const fewer = press("ArrowUp", { selection: one }, true)!.selection!;
    expect(fewer.last).toBe(all.last - 1);
    expect(press("ArrowDown", { selection: fewer }, true)!.selection).toEqual(one);
    expect(press("ArrowDown", { selection: one }, true)!.selection).toEqual(one);
    expect(press("Escape", { selection: one })).toEqual({ selection: null });
    // Without a selection Escape is for others.
    expect(press("Escape")).toBeUndefined();
    const near = press("Enter", { selection: one })!.range!;
    expect(near.from).toBeLessThan(one.from);
    expect(near.to).toBeGreaterThan(one.to);
  });
});
