// A verdict is a ratio whose interval leaves 1 out, of repeats in quiet conditions; anything else says why it is none.
import { describe, expect, it } from "vitest";
import { ratioOfMedians, ratioOfPairs, ratiosLeftOut, verdictOf } from "./benchVerdict.ts";

const STEADY = [100, 101, 99, 100, 102, 98];

describe("the ratio of two measurements", () => {
  it("is that of the medians, within an interval that holds it", () => {
    const ratio = ratioOfMedians(STEADY, [150, 151, 149, 152, 150, 148]);
    expect(ratio.value).toBeCloseTo(1.5, 10);
    expect(ratio.low).toBeLessThanOrEqual(1.5);
    expect(ratio.high).toBeGreaterThanOrEqual(1.5);
    expect(ratio.high - ratio.low).toBeLessThan(0.1);
  });

  it("leaves out as many ratios at each end as the published tables of Mann and Whitney's test allow", () => {
    // Two-sided, 5 %: the largest U that is significant, so that one more is left out than its value says.
    const table = [
      [5, 5, 2],
      [6, 6, 5],
      [6, 8, 8],
      [8, 6, 8],
      [7, 7, 8],
      [8, 8, 13],
      [10, 10, 23],
      [15, 20, 90],
      [20, 20, 127],
    ] as const;
    for (const [n, m, critical] of table) expect(ratiosLeftOut(n, m), `${n} and ${m}`).toBe(critical + 1);
    // By the normal distribution, 100 · 100 / 2 - 1.96 · √(100 · 100 · 201 / 12).
    expect(Math.abs(ratiosLeftOut(100, 100) - 4198)).toBeLessThanOrEqual(2);
    // From there on by the normal distribution, which meets the counts.
    expect(Math.abs(ratiosLeftOut(100, 101) - ratiosLeftOut(100, 100) - 44)).toBeLessThanOrEqual(4);
    expect(ratiosLeftOut(1000, 1000)).toBeGreaterThan(470_000);
  });

  it("has its full range when there are too few repeats for an interval", () => {
    expect(ratioOfMedians([100, 110, 105, 102], [200, 210, 190, 220])).toEqual({
      value: 205 / 103.5,
      low: 190 / 110,
      high: 220 / 100,
    });
    // One side with many repeats does not make up for the other.
    expect(ratioOfMedians([1, 2], [4, 5, 6, 7, 8, 9, 10])).toMatchObject({ low: 2, high: 10 });
  });

  it("is of each round where both were measured in turn, so that drift does not matter", () => {
    // The machine slows down to a third; the second is always 1.2 times as fast.
    const drifting = [300, 260, 220, 180, 140, 100, 95, 90, 85];
    const faster = drifting.map((rate, i) => rate * (i % 2 === 0 ? 1.2 : 1.21));
    const paired = ratioOfPairs(drifting, faster);
    expect(paired.value).toBeCloseTo(1.2, 10);
    // Of nine, the second and the eighth: 2 · (1 + 9) / 2⁹ = 3.9 %, and 18 % with one more.
    expect(paired.low).toBeCloseTo(1.2, 10);
    expect(paired.high).toBeCloseTo(1.21, 10);
    expect(verdictOf({ first: drifting, second: faster, paired: true, red: [] }).kind).toBe("faster");
    expect(verdictOf({ first: drifting, second: faster, paired: false, red: [] }).kind).toBe("even");
  });
});

describe("a verdict", () => {
  const of = (second: readonly number[], red: readonly string[] = []) =>
    verdictOf({ first: STEADY, second, paired: false, red });

  it("is one where the interval leaves 1 out, and says the ratio in one way", () => {
    expect(of([150, 151, 149, 152, 150, 150])).toMatchObject({
      kind: "faster",
      sentence: "The second is 1.50 × as fast.",
    });
    expect(of([50, 51, 49, 50, 50, 50])).toMatchObject({ kind: "slower", sentence: "The second is 0.500 × as fast." });
    expect(of([80, 130, 100, 101, 90, 95])).toMatchObject({ kind: "even" });
  });

  it("is none with few repeats, and has no ratio in bad conditions", () => {
    expect(of([150, 151])).toMatchObject({ kind: "too few", ratio: { value: 1.505 } });
    expect(of([150, 151, 149, 152, 150, 150], ["Thermal state serious", "Thermal state serious"])).toEqual({
      kind: "not comparable",
      ratio: null,
      sentence: "Not comparable because of the conditions: Thermal state serious.",
    });
  });
});
