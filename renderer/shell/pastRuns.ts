/** Runs and benchmarks for the navigator: the newest first, each with its one number. */
import type { BenchEntry } from "../features/bench/slice.ts";
import { benchName } from "../features/bench/slice.ts";
import type { RunRecord } from "../features/run/history.ts";
import { runName } from "../features/run/history.ts";
import { figureText } from "../ui/format.ts";

export interface PastRun {
  readonly key: string;
  /** Its number in the history of runs; null for a benchmark. */
  readonly run: number | null;
  readonly at: number;
  readonly tab: "run" | "bench";
  readonly title: string;
  readonly aside: string;
  readonly details: string;
}

const clock = (at: number): string =>
  new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });

/** Benchmarks of other models are left out: the navigator speaks of the model that is open. */
export function pastRuns(
  runs: readonly RunRecord[],
  results: readonly BenchEntry[],
  model: string,
  most: number,
): readonly PastRun[] {
  const asked = runs.map((run): PastRun => {
    const speed = run.stats?.rate ?? null;
    return {
      key: `run-${run.id}`,
      run: run.id,
      at: run.at,
      tab: "run",
      title: `${runName(run)}, ${clock(run.at)}`,
      aside: run.errorCode !== null ? "failed" : speed === null ? "–" : figureText(speed),
      details: `on ${run.device}: ${run.prompt}`,
    };
  });
  const measured = results
    .filter((entry) => entry.model === model)
    .map((entry): PastRun => {
      const writing = entry.result.tests.find(({ test }) => test === "tg") ?? entry.result.tests[0];
      return {
        key: `bench-${entry.id}`,
        run: null,
        at: entry.at,
        tab: "bench",
        title: `${benchName(entry)}, ${clock(entry.at)}`,
        aside: writing === undefined ? "–" : figureText(writing.rate),
        details: entry.result.tests.map(({ test, tokens }) => `${test} ${tokens}`).join(", "),
      };
    });
  return [...asked, ...measured].sort((a, b) => b.at - a.at).slice(0, most);
}
