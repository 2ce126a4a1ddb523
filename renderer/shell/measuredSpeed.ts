/**
 * What was measured of the open model in this session, to stand beside its forecast: the best there is: a benchmark in a
 * quiet machine, else one that was disturbed, else an answer of enough tokens, else a profile. What speaks against it is told.
 */
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

/** Fewer tokens than this are mostly the start of an answer. */
const ENOUGH_TOKENS = 32;

export function measuredSpeed({ results, runs, profile }: Measurements, model: string): MeasuredSpeed | null {
  // What a simulator takes says nothing of a speed.
  const benches = results.filter(
    (entry) => entry.model === model && entry.result.truth === "measured" && entry.result.tests.length > 0,
  );
  const bench = benches.find(({ result: { red } }) => red.length === 0) ?? benches[0];
  if (bench !== undefined) {
    const rate = (kind: "pp" | "tg"): Figure | null =>
      bench.result.tests.find(({ test }) => test === kind)?.rate ?? null;
    const { device, truth, red } = bench.result;
    const caveat = red.length === 0 ? null : `not a quiet machine: ${red.join("; ")}`;
    return { source: benchName(bench), device, truth, generate: rate("tg"), prompt: rate("pp"), caveat };
  }
  return ofRuns(runs) ?? ofProfile(profile);
}

/** The newest answer that is long enough; where none is, the longest, which says so. */
function ofRuns(runs: Measurements["runs"]): MeasuredSpeed | null {
  const told = runs.flatMap((run) =>
    (run.truth ?? "measured") === "measured" && run.stats !== null && run.stats.rate !== null
      ? [{ run, stats: run.stats }]
      : [],
  );
  const [longest] = [...told].sort((x, y) => y.stats.generated - x.stats.generated);
  const found = told.find(({ stats }) => stats.generated >= ENOUGH_TOKENS) ?? longest;
  if (found === undefined) return null;
  const { run, stats } = found;
  return {
    source: runName(run),
    device: run.device,
    truth: run.truth ?? "measured",
    generate: stats.rate,
    prompt: stats.promptRate,
    caveat: stats.generated >= ENOUGH_TOKENS ? null : `of ${stats.generated} tokens only`,
  };
}

function ofProfile(profile: ProfileView | null): MeasuredSpeed | null {
  if (profile === null || profile.truth !== "measured") return null;
  const { device, truth, decode, prefill } = profile;
  const [generate, prompt] = [rateOf(decode.seconds), rateOf(prefill.seconds)];
  return { source: "the profile", device, truth, generate, prompt, caveat: null };
}

/** From the time of one token to tokens per second; the ends of its interval change places. */
function rateOf({ value, low, high, truth, basis }: Figure): Figure | null {
  if (value <= 0) return null;
  const rate = (seconds: number | null): number | null => (seconds === null || seconds <= 0 ? null : 1 / seconds);
  return { value: 1 / value, low: rate(high), high: rate(low), unit: "tokens/s", truth, basis };
}
