/** Results of benchmarks for tests: one subject, quiet conditions, what a test does not ask about left empty. */
import { DEFAULT_DEVICE } from "../../main/contract/views/engine.ts";
import type { BenchResult, BenchSubject, BenchTest } from "../../main/contract/views/bench.ts";

export const SUBJECT: BenchSubject = {
  ...{ model: "m1", title: "Sample Q8_0", device: DEFAULT_DEVICE, threads: 2, kernels: "avx2", truth: "measured" },
};

export function benchTestOf(test: "pp" | "tg", samples: readonly number[], part: Partial<BenchTest> = {}): BenchTest {
  const value = [...samples].sort((a, b) => a - b)[samples.length >> 1] ?? 0;
  return {
    ...{ test, tokens: test === "pp" ? 512 : 128, depth: 0, subject: 0, samples: [...samples], mean: value, stddev: 1 },
    rate: { value, low: value * 0.9, high: value * 1.1, unit: "tokens/s", truth: "measured", basis: "" },
    ...{ firstToken: null, tokenSeconds: [], joulesPerToken: null },
    ...part,
  };
}

export function benchResultOf(tests: readonly BenchTest[], part: Partial<BenchResult> = {}): BenchResult {
  return {
    ...{ kind: "done", subjects: [SUBJECT], tests, knees: [], red: [], stopped: null, notes: [], json: "[]" },
    energy: { sentence: "Not exposed.", idle: null, load: null, prefill: null, decode: null },
    ...{ device: DEFAULT_DEVICE, truth: "measured", threads: 2, kernels: "avx2" },
    ...{ machine: "a chip", system: "a system", version: "1.0.0" },
    conditions: { before: { at: 0, readings: [] }, after: { at: 0, readings: [] } },
    ...part,
  };
}
