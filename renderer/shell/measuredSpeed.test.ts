import { describe, expect, it } from "vitest";
import type { Figure } from "../../main/contract/views/common.ts";
import type { ProfileView } from "../../main/contract/views/run.ts";
import type { BenchEntry } from "../features/bench/slice.ts";
import type { RunRecord } from "../features/run/history.ts";
import { measuredSpeed } from "./measuredSpeed.ts";

const rate = (value: number): Figure => ({
  value,
  low: null,
  high: null,
  unit: "tokens/s",
  truth: "measured",
  basis: "",
});
const bench = (id: number, model: string, red: readonly string[] = []): BenchEntry =>
  ({
    id,
    model,
    result: {
      device: "cpu",
      truth: "measured",
      red,
      tests: [
        { test: "pp", rate: rate(900) },
        { test: "tg", rate: rate(100 + id) },
      ],
    },
  }) as unknown as BenchEntry;
const run = (id: number, value: number | null, truth: RunRecord["truth"] = "measured", generated = 40): RunRecord =>
  ({
    id,
    mode: "chat",
    device: "mlx",
    truth,
    stats: { rate: value === null ? null : rate(value), promptRate: null, generated },
  }) as unknown as RunRecord;
const profile = {
  device: "cpu",
  truth: "measured",
  decode: { seconds: { ...rate(0.01), low: 0.008, high: 0.0125, unit: "seconds" } },
  prefill: { seconds: { ...rate(0.001), unit: "seconds" } },
} as unknown as ProfileView;

describe("what was measured beside the forecast", () => {
  it("is the newest benchmark of this model, before any run", () => {
    const results = [bench(3, "other"), bench(2, "this"), bench(1, "this")];
    const found = measuredSpeed({ results, runs: [run(1, 50)], profile }, "this");
    expect(found).toMatchObject({ source: "Bench 2", device: "cpu", generate: { value: 102 }, prompt: { value: 900 } });
  });

  it("is the last run that wrote something, where there is no benchmark", () => {
    const found = measuredSpeed({ results: [bench(3, "other")], runs: [run(2, null), run(1, 50)], profile }, "this");
    expect(found).toMatchObject({ source: "Chat 1", device: "mlx", generate: { value: 50 }, prompt: null });
  });

  it("is the newest quiet benchmark, and where all were disturbed the newest with its caveat", () => {
    const loud = bench(2, "this", ["Other programs 2.0 of 2 processors"]);
    const quiet = measuredSpeed({ results: [loud, bench(1, "this")], runs: [], profile: null }, "this");
    expect(quiet).toMatchObject({ source: "Bench 1", caveat: null });
    const disturbed = measuredSpeed({ results: [loud], runs: [run(1, 50)], profile: null }, "this");
    expect(disturbed).toMatchObject({
      source: "Bench 2",
      caveat: "not a quiet machine: Other programs 2.0 of 2 processors",
    });
  });

  it("is the newest answer of enough tokens, else the longest, which says so", () => {
    const short = run(3, 11, "measured", 8);
    const runs = [short, run(2, 172), run(1, 150)];
    expect(measuredSpeed({ results: [], runs, profile }, "this")).toMatchObject({ source: "Chat 2", caveat: null });
    const few = measuredSpeed({ results: [], runs: [short, run(2, 20, "measured", 9)], profile }, "this");
    expect(few).toMatchObject({ source: "Chat 2", caveat: "of 9 tokens only" });
  });

  it("is the profile, as a rate, where there is nothing else", () => {
    const found = measuredSpeed({ results: [], runs: [], profile }, "this");
    expect(found).toMatchObject({ generate: { value: 100, low: 80, high: 125 }, prompt: { value: 1000 } });
    expect(measuredSpeed({ results: [], runs: [], profile: null }, "this")).toBeNull();
  });

  it("is never what a simulator took", () => {
    const made = bench(2, "this");
    const results = [{ ...made, result: { ...made.result, truth: "simulated" as const } }, bench(1, "this")];
    expect(measuredSpeed({ results, runs: [], profile }, "this")).toMatchObject({ source: "Bench 1" });
    const found = measuredSpeed({ results: [], runs: [run(2, 5, "simulated")], profile: null }, "this");
    expect(found).toBeNull();
  });
});
