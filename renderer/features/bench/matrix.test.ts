// The matrix editor's numbers, the curves of a sweep, and a history in order.
import { describe, expect, it } from "vitest";
import { benchResultOf, benchTestOf, SUBJECT } from "../../testing/bench.ts";
import { earlierThan, entriesOf, seriesOf } from "./history.ts";
import { askedOf, expectedSeconds, INITIAL_SETTINGS, presetOf, PRESETS, requestOf } from "./settings.ts";
import type { BenchEntry } from "./slice.ts";
import { benchName } from "./slice.ts";
import { sweepPlaces, sweepsOf } from "./sweep.ts";

const settings = { ...INITIAL_SETTINGS, promptTokens: "64, 128", generateTokens: "32", threads: "1-4" };

describe("the matrix", () => {
  it("counts its cells, and asks for lists", () => {
    const asked = askedOf({ ...settings, depth: "0, 256", otherDevices: ["mlx"] }, 2048);
    if (!asked.ok) throw new Error(asked.problem);
    // 4 threads on 2 devices, 3 tests at 2 depths.
    expect(asked.cells).toBe(48);
    expect(requestOf({ ...settings, otherDevices: ["mlx", "cpu"] }, asked.lists)).toMatchObject({
      device: ["cpu", "mlx"],
      promptTokens: [64, 128],
      threads: [1, 2, 3, 4],
      seconds: null,
    });
  });

  it.each([
    [{ promptTokens: "many" }, "promptTokens", /got many/],
    [{ depth: "2000" }, "depth", /passes the model's 2047 tokens/],
    [{ promptTokens: "0", generateTokens: "0" }, null, /nothing to measure/],
    [{ threads: "0" }, "threads", /from 1 to 1024/],
    [{ threads: "1-64", depth: "0,1,2" }, null, /576 cells/],
  ] as const)("refuses %j", (part, list, problem) => {
    expect(askedOf({ ...settings, ...part }, 2048)).toMatchObject({
      ...{ ok: false, list, problem: expect.stringMatching(problem) as string },
    });
  });

  it("has presets that fit any model", () => {
    for (const preset of PRESETS)
      for (const trained of [null, 2, 64, 1024, 131_072])
        expect(askedOf({ ...INITIAL_SETTINGS, ...presetOf(preset, trained, 10) }, trained)).toMatchObject({ ok: true });
    expect(presetOf("threads", null, 4).threads).toBe("1-4");
    expect(presetOf("threads", null, 12).threads).toBe("1, 2-12+2");
  });

  it("says how long it takes by an earlier result", () => {
    const asked = askedOf({ ...settings, threads: "" }, 2048);
    if (!asked.ok) throw new Error(asked.problem);
    const last = benchResultOf([benchTestOf("pp", [96]), benchTestOf("tg", [16])]);
    // (64 + 128) / 96 and 32 / 16 seconds, seven times.
    expect(expectedSeconds(settings, asked, last)).toBeCloseTo(28, 9);
    expect(expectedSeconds(settings, asked, undefined)).toBeNull();
    expect(expectedSeconds({ ...settings, seconds: 30 }, asked, undefined)).toBe(30);
  });
});

describe("a sweep", () => {
  const subjects = [4, 1, 2].map((threads) => ({ ...SUBJECT, threads }));
  const tests = [30, 10, 20].map((rate, subject) => benchTestOf("tg", [rate], { subject }));

  it("is a curve in the order of threads, with its knee", () => {
    const knees = [
      { test: "tg", tokens: 128, depth: 0, subject: 0, threads: 4, sentence: "4 threads give the most." },
    ] as const;
    const [curve, ...others] = sweepsOf({ subjects, tests, knees });
    expect(others).toEqual([]);
    expect(curve?.points.map(({ threads, rate }) => [threads, rate])).toEqual([
      [1, 10],
      [2, 20],
      [4, 30],
    ]);
    expect(curve?.knee?.threads).toBe(4);
    expect(sweepsOf({ subjects, tests: tests.slice(1), knees: [] })).toEqual([]);
  });

  it("stands on a scale from zero", () => {
    const [curve] = sweepsOf({ subjects, tests, knees: [] });
    const { x, y } = sweepPlaces(curve?.points ?? [], { width: 344, height: 128 });
    expect([x(1), x(4)]).toEqual([44, 334]);
    // The highest interval ends at 33: 100 of its pixels are 33, so that 16.5 stands halfway.
    expect(y(33)).toBeCloseTo(8);
    expect(y(16.5)).toBeCloseTo(58);
    expect(y(0)).toBe(108);
  });
});

describe("the history", () => {
  const { kind: _, ...record } = benchResultOf([benchTestOf("tg", [10, 11]), benchTestOf("pp", [99])]);
  const line = (at: number, version: string, value: object = record) => ({
    ...{ at, model: { title: "Sample", identity: "x", path: null } },
    value: JSON.parse(JSON.stringify({ ...value, version })) as never,
  });

  it("is results with a time for a name, without lines of another form", () => {
    const entries = entriesOf({ entries: [line(2000, "1.1"), line(1000, "1.0", { tests: [] })] }, "Sample Q8_0");
    expect(entries).toMatchObject([
      { id: -2000, at: 2000, model: "Sample Q8_0", result: { device: "cpu", kind: "done" } },
    ]);
    expect(benchName({ id: -2000, at: 2000 })).not.toContain("Bench");
  });

  it("leaves out what this session measured itself", () => {
    const entries = entriesOf({ entries: [line(2000, "1.1")] }, "Sample Q8_0");
    const own: BenchEntry = { id: 1, at: 2001, model: "Sample Q8_0", result: benchResultOf(entries[0]!.result.tests) };
    expect(earlierThan([own], entries)).toEqual([]);
    expect(earlierThan([], entries)).toEqual(entries);
  });

  it("is drawn by test, device and threads, the oldest first", () => {
    const entries = entriesOf({ entries: [line(3000, "1.1"), line(1000, "1.0")] }, "Sample Q8_0");
    expect(seriesOf(entries).map(({ name }) => name)).toEqual(["tg 128, cpu, 2 threads", "pp 512, cpu, 2 threads"]);
    expect(seriesOf(entries)[0]?.points.map(({ at, version }) => [at, version])).toEqual([
      [1000, "1.0"],
      [3000, "1.1"],
    ]);
    expect(seriesOf(entries.slice(1))).toEqual([]);
  });
});
