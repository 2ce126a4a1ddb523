// The knee of a thread sweep, energy above the idle floor, and what is said of single tests; by hand arithmetic.
import { describe, expect, it } from "vitest";
import type { BenchSubject } from "../../contract/views/bench.ts";
import type { BenchReading, BenchTest } from "../../runtime/bench.ts";
import { benchTest } from "../../runtime/bench.ts";
import { energyView, kneesOf, testView } from "./benchViews.ts";

const subject = (threads: number): BenchSubject => ({
  ...{ model: "m1", title: "A model", device: "cpu", threads, kernels: "avx2", truth: "measured" },
});
const measured = (rate: number, repeats = 6): BenchTest =>
  benchTest(
    { test: "tg", tokens: 10, depth: 0 },
    new Date(0),
    Array.from({ length: repeats }, () => ({ seconds: 10 / rate, drawn: [] })),
  );
/** Rates of 1, 2, … threads. */
const sweep = (...rates: readonly number[]) =>
  rates.map((rate, i) => ({ test: measured(rate), subject: i, view: subject(i + 1) }));

describe("the knee", () => {
  it("is where more threads give less than a twentieth more", () => {
    expect(kneesOf(sweep(10, 19, 28, 29, 29), null)).toMatchObject([
      { threads: 3, subject: 2, sentence: "3 threads reach 97 % of the most, which 4 give." },
    ]);
    expect(kneesOf(sweep(10, 19, 28, 40), null)).toMatchObject([{ threads: 4, sentence: "4 threads give the most." }]);
  });

  it("names the kinds of cores where the system tells them", () => {
    const said = (performance: number, efficiency: number): string | undefined =>
      kneesOf(sweep(10, 19, 28, 29), { performance, efficiency })[0]?.sentence;
    expect(said(3, 4)).toMatch(/: as many as there are performance cores\.$/);
    expect(said(2, 4)).toMatch(/: the 2 performance cores and 1 of the 4 efficiency cores\.$/);
    expect(said(2, 1)).toMatch(/: all cores, 2 performance and 1 efficiency\.$/);
    expect(said(8, 2)).toMatch(/: fewer than the 8 performance cores\.$/);
  });

  it("is none of two points, or of few repeats", () => {
    expect(kneesOf(sweep(10, 19), null)).toEqual([]);
    const few = sweep(10, 19, 28).map((each) => ({ ...each, test: measured(10, 5) }));
    expect(kneesOf(few, null)).toEqual([]);
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
