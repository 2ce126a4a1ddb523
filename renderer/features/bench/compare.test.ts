import { describe, expect, it } from "vitest";
import { benchResultOf, benchTestOf, SUBJECT } from "../../testing/bench.ts";
import { benchDifferences, compareBench, compareInTurn } from "./compare.ts";
import { comparisonJson, comparisonMarkdown, resultMarkdown } from "./benchText.ts";
import type { BenchEntry } from "./slice.ts";

const entry = (id: number, tg: readonly number[], part: Partial<BenchEntry> = {}): BenchEntry => ({
  ...{ id, at: 0, model: "Sample Q8_0" },
  result: benchResultOf([benchTestOf("pp", [900, 1000, 1100]), benchTestOf("tg", tg)]),
  ...part,
});

describe("the ratio of two results", () => {
  const STEADY = [100, 101, 99, 100, 102, 98];

  it("names a winner only when the interval leaves 1 out", () => {
    const said = (other: readonly number[]): string | undefined =>
      compareBench(entry(1, STEADY), entry(2, other)).find(({ left }) => left.test === "tg")?.sentence;
    expect(said([150, 151, 149, 152, 150, 150])).toMatch(/^The second is 1\.50 × as fast\.$/);
    expect(said([50, 51, 49, 50, 50, 50])).toMatch(/^The second is 0\.500 × as fast\.$/);
    expect(said([80, 130, 100, 101, 90, 95])).toMatch(/^No difference/);
    for (const few of [[150], [150, 150], [150, 151, 149], [150, 151, 149, 150], [150, 151, 149, 150, 152]])
      expect(said(few)).toMatch(/nothing can be said: measure at least 6/);
  });

  it("names no winner while a condition is red, and says which", () => {
    const fast = [150, 151, 149, 152, 150, 150];
    const calm = entry(2, fast);
    const busy = { ...calm, result: { ...calm.result, red: ["Load 9.8 on 2 processors"] } };
    for (const [first, second] of [
      [entry(1, STEADY), busy],
      [busy, entry(3, STEADY)],
    ] as const) {
      for (const { ratio, sentence } of compareBench(first, second)) {
        expect(ratio).toBeNull();
        expect(sentence).toBe("Not comparable because of the conditions during Bench 2: Load 9.8 on 2 processors.");
      }
      expect(comparisonMarkdown(first, second)).toContain("Not comparable because");
      expect(comparisonMarkdown(first, second)).not.toContain("1.50");
    }
  });

  it("compares the same test of the same subject only", () => {
    const subjects = [SUBJECT, { ...SUBJECT, threads: 4 }];
    const result = benchResultOf(
      [benchTestOf("tg", STEADY), benchTestOf("tg", [150, 151, 149, 152, 150, 148], { subject: 1 })],
      { subjects },
    );
    const deep = benchResultOf([benchTestOf("tg", STEADY, { depth: 64 })]);
    expect(compareBench(entry(1, STEADY), entry(2, [], { result: deep }))).toEqual([]);
    const four = benchResultOf([benchTestOf("tg", STEADY, { subject: 0 })], { subjects: [{ ...SUBJECT, threads: 4 }] });
    const compared = compareBench(entry(1, [], { result }), entry(2, [], { result: four }));
    expect(compared.map(({ left }) => left.subject)).toEqual([1]);
    // Rounds that belong together: 150 / 100, 151 / 101, 149 / 99, … in order, the fourth of them the largest.
    const [first, second] = result.tests;
    expect(compareInTurn(result, first!, second!)).toMatchObject({
      kind: "faster",
      ratio: { value: (150 / 100 + 149 / 99) / 2, low: 150 / 102, high: 152 / 100 },
    });
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
    expect(resultMarkdown(left)).toContain("| tg 128 | 100 | 90.0 – 110 (range) |  | 3 |");
    expect(comparisonMarkdown(left, right)).toMatch(/\| tg 128 \| 100 \| 150 \| 1\.50 /);
    expect(resultMarkdown(entry(1, [100, 101, 99, 100, 100]))).toContain("(range) |  | 5 |");
    expect(resultMarkdown(entry(1, [100, 101, 99, 100, 100, 98]))).toContain("(95 % interval) |  | 6 |");
  });

  it("or JSON with the samples, so that others can compute their own interval", () => {
    const parsed = JSON.parse(comparisonJson(left, right)) as { tests: { ratio: number; left: number[] }[] };
    expect(parsed.tests[1]).toMatchObject({ ratio: 1.5, left: [100, 101, 99] });
  });
});
