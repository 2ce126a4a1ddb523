/** The history of a model's benchmarks: what the engine kept, as results; and one setting over time. */
import { testName } from "../../../main/contract/benchText.ts";
import type { BenchRecord } from "../../../main/contract/views/bench.ts";
import { benchRecord } from "../../../main/contract/views/bench.ts";
import type { HistoryPage } from "../../../main/contract/views/session.ts";
import type { BenchEntry } from "./slice.ts";

/** Lines of another form are of another version, and left out. Newest first, as the engine has them. */
export function entriesOf({ entries }: Pick<HistoryPage, "entries">, model: string): readonly BenchEntry[] {
  return entries.flatMap(({ at, value }): readonly BenchEntry[] => {
    const read = benchRecord.safeParse(value);
    const first = read.data?.subjects[0];
    if (!read.success || first === undefined) return [];
    // By its time: the numbers of a session are positive.
    return [{ id: -at, at, model, result: resultOf(read.data, first) }];
  });
}

const resultOf = (record: BenchRecord, first: BenchRecord["subjects"][number]): BenchEntry["result"] => ({
  ...record,
  kind: "done",
  ...{ device: first.device, truth: first.truth, threads: first.threads, kernels: first.kernels },
  tests: record.tests.map((test) => ({ ...test, tokenSeconds: [] })),
  ...{ knees: [], notes: [], json: "[]" },
});

/** The same measurement stands in the session and in the history. */
const keyOf = ({ result: { tests } }: BenchEntry): string => JSON.stringify(tests.map(({ samples }) => samples[0]));

/** Those that are not among the results of this session. */
export function earlierThan(results: readonly BenchEntry[], kept: readonly BenchEntry[]): readonly BenchEntry[] {
  const known = new Set(results.map(keyOf));
  return kept.filter((entry) => !known.has(keyOf(entry)));
}

export interface HistoryPoint {
  readonly at: number;
  readonly version: string;
  readonly rate: number;
  readonly low: number;
  readonly high: number;
  /** In bad conditions: shown, but compared with none. */
  readonly red: boolean;
}

export interface HistorySeries {
  /** "tg 128, cpu, 2 threads" */
  readonly name: string;
  /** Oldest first. */
  readonly points: readonly HistoryPoint[];
}

const LEAST_POINTS = 2;

/** One for each test, device and number of threads, the longest first. */
export function seriesOf(entries: readonly BenchEntry[]): readonly HistorySeries[] {
  const found = new Map<string, HistoryPoint[]>();
  for (const { at, result } of entries)
    for (const test of result.tests) {
      const subject = result.subjects[test.subject];
      if (subject === undefined || test.samples.length === 0) continue;
      const name = `${testName(test)}, ${subject.device}, ${subject.threads} thread${subject.threads === 1 ? "" : "s"}`;
      const { value, low, high } = test.rate;
      const point = { at, version: result.version, rate: value, low: low ?? value, high: high ?? value };
      found.set(name, [...(found.get(name) ?? []), { ...point, red: result.red.length > 0 }]);
    }
  return [...found]
    .map(([name, points]) => ({ name, points: [...points].sort((a, b) => a.at - b.at) }))
    .filter(({ points }) => points.length >= LEAST_POINTS)
    .sort((a, b) => b.points.length - a.points.length);
}
