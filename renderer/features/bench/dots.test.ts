import { describe, expect, it } from "vitest";
import { dotPositions } from "./dots.ts";

describe("dots of repeats", () => {
  it("stay on the line, in order", () => {
    const { at } = dotPositions([10, 20, 30], null, 260);
    expect(at[0]!).toBeGreaterThan(6);
    expect(at[2]!).toBeLessThan(254);
    expect(at[1]!).toBeCloseTo(130);
    expect(dotPositions([10, 20, 30], null, 260).ends).toEqual([9, 31]);
  });

  it("stand close together when the repeats agree", () => {
    const { at } = dotPositions([100, 100.1], null, 260);
    expect(at[1]! - at[0]!).toBeLessThan(5);
  });

  it("stand on a line that begins at no rate below 0", () => {
    const { at, ends } = dotPositions([1, 60], [1, 60], 260);
    expect(ends![0]).toBe(0);
    expect(at[0]!).toBeGreaterThan(6);
    expect(at[1]!).toBeLessThan(254);
  });

  it("keep the interval on the line, and survive nothing and one", () => {
    expect(dotPositions([], null, 260)).toEqual({ at: [], band: null, ends: null });
    expect(dotPositions([5], null, 260).at[0]!).toBeCloseTo(130);
    const { band } = dotPositions([100], [80, 130], 260);
    expect(band![0]).toBeGreaterThanOrEqual(6);
    expect(band![1]).toBeLessThanOrEqual(254);
  });
});
