import { describe, expect, it } from "vitest";
import type { BenchTest } from "../../../main/contract/views/run.ts";
import { benchDifferences, compareBench, ratioOfMedians, ratiosLeftOut } from "./compare.ts";
import { comparisonJson, comparisonMarkdown, resultMarkdown } from "./benchText.ts";
import type { BenchEntry } from "./slice.ts";

function test(name: "pp" | "tg", samples: readonly number[]): BenchTest {
  const value = [...samples].sort((a, b) => a - b)[samples.length >> 1] ?? 0;
  return {
    test: name,
    tokens: name === "pp" ? 512 : 128,
    samples: [...samples],
    rate: { value, low: value * 0.9, high: value * 1.1, unit: "tokens/s", truth: "measured", basis: "" },
    mean: value,
    stddev: 1,
  };
}
function entry(id: number, tg: readonly number[], part: Partial<BenchEntry> = {}): BenchEntry {
  return {
    id,
    at: 0,
    model: "Sample Q8_0",
    settings: { device: "cpu", promptTokens: 512, generateTokens: 128, repeats: tg.length, warmup: 1 },
    result: {
      kind: "done",
      device: "cpu",
      truth: "measured",
      tests: [test("pp", [900, 1000, 1100]), test("tg", tg)],
      machine: "a chip",
      threads: 2,
      kernels: "avx2",
      conditions: { before: { at: 0, readings: [] }, after: { at: 0, readings: [] } },
      notes: [],
      json: "[]",
    },
    ...part,
  };
}

describe("the ratio of two results", () => {
  const STEADY = [100, 101, 99, 100, 102, 98];

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

  it("names a winner only when the interval leaves 1 out", () => {
    const said = (other: readonly number[]): string | undefined =>
      compareBench(entry(1, STEADY), entry(2, other)).find((each) => each.test === "tg")?.sentence;
    expect(said([150, 151, 149, 152, 150, 150])).toMatch(/^The second is 1\.50 × as fast\.$/);
    expect(said([50, 51, 49, 50, 50, 50])).toMatch(/^The second is 0\.500 × as fast\.$/);
    expect(said([80, 130, 100, 101, 90, 95])).toMatch(/^No difference/);
    for (const few of [[150], [150, 150], [150, 151, 149], [150, 151, 149, 150], [150, 151, 149, 150, 152]])
      expect(said(few)).toMatch(/nothing can be said: measure at least 6/);
  });

  it("names no winner while a condition is red, and says which", () => {
    const load = {
      id: "load",
      title: "other load",
      value: "9.8 on 2 processors",
      source: "",
      state: "warning",
    } as const;
    const fast = [150, 151, 149, 152, 150, 150];
    const calm = entry(2, fast);
    const busy = {
      ...calm,
      result: { ...calm.result, conditions: { ...calm.result.conditions, before: { at: 0, readings: [load] } } },
    };
    for (const [first, second] of [
      [entry(1, STEADY), busy],
      [busy, entry(3, STEADY)],
    ] as const) {
      for (const { ratio, sentence } of compareBench(first, second)) {
        expect(ratio).toBeNull();
        expect(sentence).toBe(
          "Not comparable because of the conditions during Bench 2: other load 9.8 on 2 processors.",
        );
      }
      expect(comparisonMarkdown(first, second)).toContain("Not comparable because");
      expect(comparisonMarkdown(first, second)).not.toContain("1.50");
    }
  });

  it("says what else differs", () => {
    expect(benchDifferences(entry(1, [1]), entry(2, [2]))).toEqual([]);
    expect(benchDifferences(entry(1, [1]), entry(2, [2], { model: "Other Q4_K_M" }))).toEqual([
      "model Sample Q8_0 → Other Q4_K_M",
    ]);
  });
});

describe("results as text", () => {
  const [left, right] = [entry(1, [100, 101, 99]), entry(2, [150, 151, 149])];
  it("are tables with as many cells in each row", () => {
    for (const text of [resultMarkdown(left), comparisonMarkdown(left, right)]) {
      const rows = text.split("\n").filter((line) => line.startsWith("|"));
      expect(rows.length).toBeGreaterThanOrEqual(4);
      expect(new Set(rows.map((row) => row.split("|").length)).size).toBe(1);
    }
    expect(resultMarkdown(left)).toContain("| tg128 | 100 | 90.0–110 (range) | 3 |");
    expect(comparisonMarkdown(left, right)).toMatch(/\| tg128 \| 100 \| 150 \| 1\.50 /);
    expect(resultMarkdown(entry(1, [100, 101, 99, 100, 100]))).toContain("(range) | 5 |");
    expect(resultMarkdown(entry(1, [100, 101, 99, 100, 100, 98]))).toContain("(95 % interval) | 6 |");
  });

  it("or JSON with the samples, so that others can compute their own interval", () => {
    const parsed = JSON.parse(comparisonJson(left, right)) as { tests: { ratio: number; left: number[] }[] };
    expect(parsed.tests[1]).toMatchObject({ ratio: 1.5, left: [100, 101, 99] });
  });
});
