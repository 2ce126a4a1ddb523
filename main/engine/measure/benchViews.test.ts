// The knee of a thread sweep, energy above the idle floor, and what is said of single tests; by hand arithmetic.
import { describe, expect, it } from "vitest";
import type { BenchSubject } from "../../contract/views/bench.ts";
import type { BenchReading, BenchTest } from "../../runtime/bench.ts";
import { benchTest } from "../../runtime/bench.ts";
import { energyView, kneesOf, testView } from "./benchViews.ts";

const subject = (threads: number): BenchSubject => ({
  ...{ model: "m1", title: "A model", device: "cpu", threads, kernels: "avx2", truth: "measured" },
});
const measuredAs = (rates: readonly number[]): BenchTest =>
  benchTest(
    { test: "tg", tokens: 10, depth: 0 },
    new Date(0),
    rates.map((rate) => ({ seconds: 10 / rate, drawn: [] })),
  );
const measured = (rate: number, repeats = 6): BenchTest => measuredAs(Array.from({ length: repeats }, () => rate));
/** Rates of 1, 2, … threads. */
const sweep = (...rates: readonly number[]) =>
  rates.map((rate, i) => ({ test: measured(rate), subject: i, view: subject(i + 1) }));

describe("the knee", () => {
  it("is where more threads give less than a twentieth more", () => {
    expect(kneesOf(sweep(10, 19, 28, 29, 29), null).knees).toMatchObject([
      { threads: 3, subject: 2, sentence: "3 threads reach 97 % of the most, which 4 give." },
    ]);
    expect(kneesOf(sweep(10, 19, 28, 40), null).knees).toMatchObject([
      { threads: 4, sentence: "4 threads give the most." },
    ]);
    expect(kneesOf(sweep(40, 30, 20), null).knees).toMatchObject([{ sentence: "1 thread gives the most." }]);
  });

  it("is named only where the repeats decide it", () => {
    const points = (...all: readonly (readonly number[])[]) =>
      all.map((rates, i) => ({ test: measuredAs(rates), subject: i, view: subject(i + 1) }));
    const [low, high] = [
      [30, 44, 31, 43, 32, 42],
      [41, 29, 42, 33, 40, 31],
    ];
    // The rounds of these overlap: which has the higher median is chance.
    expect(kneesOf(points(low, high, low), null)).toEqual({
      knees: [],
      notes: ["tg 10: these repeats cannot tell how many threads are best."],
    });
    // One thread is slower in every round; of two and three nothing shows.
    expect(kneesOf(points([10, 11, 12, 10, 11, 12], low, high), null)).toMatchObject({
      knees: [{ threads: 2, sentence: "2 threads do as well as more, as far as these repeats show." }],
      notes: [],
    });
    // What a benchmark decided as it went counts for more than the interval of its repeats.
    const open = sweep(40, 30, 20).map((each) => ({ ...each, ...(each.subject > 0 && { decision: "open" as const }) }));
    expect(kneesOf(open, null).knees).toEqual([]);
  });

  it("names the kinds of cores where the system tells them", () => {
    const said = (performance: number, efficiency: number): string | undefined =>
      kneesOf(sweep(10, 19, 28, 29), { performance, efficiency }).knees[0]?.sentence;
    expect(said(3, 4)).toMatch(/: as many as there are performance cores\.$/);
    expect(said(2, 4)).toMatch(/: the 2 performance cores and 1 of the 4 efficiency cores\.$/);
    expect(said(2, 1)).toMatch(/: all cores, 2 performance and 1 efficiency\.$/);
    expect(said(8, 2)).toMatch(/: fewer than the 8 performance cores\.$/);
  });

  it("is none of two points, or of few repeats", () => {
    expect(kneesOf(sweep(10, 19), null)).toEqual({ knees: [], notes: [] });
    const few = sweep(10, 19, 28).map((each) => ({ ...each, test: measured(10, 5) }));
    expect(kneesOf(few, null)).toEqual({ knees: [], notes: [] });
  });
});

describe("energy", () => {
  const reading = (joules: number): BenchReading => ({ seconds: 2, drawn: [1, 2], joules });
  const work = { test: "tg", tokens: 4, depth: 0 } as const;
  const readings = [reading(30), reading(34)];
  const test = benchTest(work, new Date(0), readings);

  it("is what was taken above the idle floor", () => {
    const options = { subject: 0, readings, idle: 5, truth: "measured" } as const;
    // (30 - 5 · 2) / 4 and (34 - 10) / 4.
    expect(testView(test, options).joulesPerToken).toMatchObject({ value: 5.5, low: 5, high: 6, unit: "joules" });
    const counter = { kind: "counter", source: "RAPL", joules: () => 0 } as const;
    const load = { seconds: 3, joules: 40 };
    expect(energyView(counter, { idle: 5, load, tests: [{ test, readings }] })).toMatchObject({
      idle: { value: 5, unit: "watts" },
      load: { value: 25 },
      prefill: null,
      decode: { value: 44 },
    });
  });

  it("is a sentence where there is no counter", () => {
    const options = { subject: 0, readings: [{ seconds: 2, drawn: [1, 2] }], idle: null, truth: "measured" } as const;
    expect(testView(test, options).joulesPerToken).toBeNull();
    const none = { kind: "none", sentence: "Not told." } as const;
    expect(energyView(none, { idle: null, load: { seconds: 1, joules: 0 }, tests: [] })).toEqual({
      ...{ sentence: "Not told.", idle: null, load: null, prefill: null, decode: null },
    });
  });
});

it("tells the first token of a prompt, and the seconds of each generated token", () => {
  const of = (test: "pp" | "tg", drawn: readonly number[]) => {
    const readings = [{ seconds: 3, drawn }];
    return testView(benchTest({ test, tokens: 3, depth: 0 }, new Date(0), readings), {
      ...{ subject: 0, readings, idle: null, truth: "measured" },
    });
  };
  expect(of("pp", [3])).toMatchObject({
    firstToken: { value: 3, unit: "seconds", truth: "measured" },
    tokenSeconds: [],
  });
  expect(of("tg", [1, 1.5, 3])).toMatchObject({ firstToken: null, tokenSeconds: [[1, 0.5, 1.5]] });
});
