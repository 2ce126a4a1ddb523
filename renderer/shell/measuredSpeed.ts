/** What was measured of the open model in this session, to stand beside its forecast: by a benchmark, else a run, else a profile. */
import type { Figure } from "../../main/contract/views/common.ts";
import type { ProfileView } from "../../main/contract/views/run.ts";
import type { BenchEntry } from "../features/bench/slice.ts";
import { benchName } from "../features/bench/slice.ts";
import type { MeasuredSpeed } from "../features/overview/forecastCards.tsx";
import type { RunRecord } from "../features/run/history.ts";
import { runName } from "../features/run/history.ts";

export interface Measurements {
  /** Both newest first; benchmarks may be of other models. */
  readonly results: readonly BenchEntry[];
  readonly runs: readonly RunRecord[];
  readonly profile: ProfileView | null;
}

export function measuredSpeed({ results, runs, profile }: Measurements, model: string): MeasuredSpeed | null {
  // What a simulator takes says nothing of a speed.
  const bench = results.find(
    (entry) => entry.model === model && entry.result.truth === "measured" && entry.result.tests.length > 0,
  );
  if (bench !== undefined) {
    const rate = (kind: "pp" | "tg"): Figure | null =>
      bench.result.tests.find(({ test }) => test === kind)?.rate ?? null;
    const { device, truth } = bench.result;
    return { source: benchName(bench), device, truth, generate: rate("tg"), prompt: rate("pp") };
  }
  const run = runs.find(
    ({ stats, truth }) => (truth ?? "measured") === "measured" && stats !== null && stats.rate !== null,
  );
  if (run !== undefined)
    return {
      source: runName(run),
      device: run.device,
      truth: run.truth ?? "measured",
      generate: run.stats?.rate ?? null,
      prompt: run.stats?.promptRate ?? null,
    };
  if (profile === null || profile.truth !== "measured") return null;
  const { device, truth, decode, prefill } = profile;
  return { source: "the profile", device, truth, generate: rateOf(decode.seconds), prompt: rateOf(prefill.seconds) };
}

/** From the time of one token to tokens per second; the ends of its interval change places. */
function rateOf({ value, low, high, truth, basis }: Figure): Figure | null {
  if (value <= 0) return null;
  const rate = (seconds: number | null): number | null => (seconds === null || seconds <= 0 ? null : 1 / seconds);
  return { value: 1 / value, low: rate(high), high: rate(low), unit: "tokens/s", truth, basis };
}
