/** Benchmarks: what is asked for, samples as they come, and the results of this session, newest first. */
import type { Overview } from "../../../main/contract/views/model.ts";
import type { BenchItem } from "../../../main/contract/views/run.ts";
import { LEAST_REPEATS } from "../../../main/contract/views/run.ts";
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import { DEFAULT_DEVICE } from "../../../main/contract/views/engine.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import { current } from "../../session/async.ts";
import type { SessionState, SliceTools } from "../../session/sessionSlice.ts";

export interface BenchSettings {
  readonly device: RunDevice;
  readonly promptTokens: number;
  readonly generateTokens: number;
  readonly repeats: number;
  readonly warmup: number;
}
export type BenchSample = Extract<BenchItem, { kind: "sample" }>;
export type BenchResult = Extract<BenchItem, { kind: "done" }>;

/** A result with what it is a result of. They outlive the model, so that two models can be compared. */
export interface BenchEntry {
  readonly id: number;
  readonly at: number;
  readonly model: string;
  readonly settings: BenchSettings;
  readonly result: BenchResult;
}

/** The clock does not tell two results apart that end in the same second; their number does. */
export const benchName = ({ id }: Pick<BenchEntry, "id">): string => `Bench ${id}`;

export const modelName = ({ title, variant }: Pick<Overview, "title" | "variant">): string =>
  [title, variant].filter((part) => part !== "").join(" ");

/** What was measured of a benchmark that was stopped. */
export interface PartialBench {
  readonly settings: BenchSettings;
  readonly samples: readonly BenchSample[];
}

export interface BenchSlice {
  readonly benchSettings: BenchSettings;
  readonly benchRunning: { readonly sentence: string; readonly since: number } | null;
  readonly benchSamples: readonly BenchSample[];
  /** Of the last one, when it was stopped; null otherwise. */
  readonly benchPartial: PartialBench | null;
  /** Newest first. */
  readonly benchResults: readonly BenchEntry[];
  /** At most two results that stand side by side. */
  readonly comparedBench: readonly number[];
  readonly toggleComparedBench: (id: number) => void;
  readonly benchError: WireError | null;
  readonly setBench: (part: Partial<BenchSettings>) => void;
  readonly startBench: () => Promise<void>;
  readonly stopBench: () => void;
  readonly resetBench: () => void;
}

type State = SessionState & BenchSlice;

export function createBenchSlice({ engine, set, get }: SliceTools<State>): BenchSlice {
  let stopping: AbortController | null = null;
  let ids = 0;
  return {
    benchSettings: {
      device: DEFAULT_DEVICE,
      promptTokens: 512,
      generateTokens: 128,
      repeats: LEAST_REPEATS,
      warmup: 1,
    },
    benchRunning: null,
    benchSamples: [],
    benchPartial: null,
    benchResults: [],
    comparedBench: [],
    benchError: null,
    toggleComparedBench(id) {
      const { comparedBench } = get();
      set({
        comparedBench: comparedBench.includes(id)
          ? comparedBench.filter((each) => each !== id)
          : [...comparedBench, id].slice(-2),
      });
    },
    setBench: (part) => set({ benchSettings: { ...get().benchSettings, ...part } }),
    async startBench() {
      const open = current(get().model);
      if (open === null || get().benchRunning !== null) return;
      const settings = get().benchSettings;
      const mine = new AbortController();
      stopping = mine;
      set({
        benchRunning: { sentence: "Warming up", since: Date.now() },
        benchSamples: [],
        benchPartial: null,
        benchError: null,
      });
      let done = false;
      get().noteCommand({ kind: "bench", ...settings });
      try {
        for await (const item of engine.stream(
          "bench.run",
          { model: open.model, ...settings },
          { signal: mine.signal },
        )) {
          // What an aborted benchmark still says belongs to a model that is closed.
          if (stopping !== mine) return;
          const running = get().benchRunning;
          if (item.kind === "phase")
            set({ benchRunning: running === null ? null : { ...running, sentence: item.sentence } });
          else if (item.kind === "sample") {
            const sentence = item.warmup ? "Warming up" : item.test === "pp" ? "Measuring prefill" : "Measuring decode";
            set({
              benchSamples: [...get().benchSamples, item],
              benchRunning: running === null ? null : { ...running, sentence },
            });
          } else {
            ids += 1;
            done = true;
            set({
              benchResults: [
                { id: ids, at: Date.now(), model: modelName(open), settings, result: item },
                ...get().benchResults,
              ].slice(0, 40),
            });
          }
        }
      } catch (error) {
        const wire = toWireError(error);
        if (wire.code !== "CANCELLED" && stopping === mine) set({ benchError: wire });
      } finally {
        if (stopping === mine) {
          stopping = null;
          const samples = get().benchSamples;
          const isPartial = !done && mine.signal.aborted && samples.length > 0;
          set({ benchRunning: null, benchPartial: isPartial ? { settings, samples } : null });
        }
      }
    },
    stopBench: () => stopping?.abort(),
    resetBench() {
      stopping?.abort();
      stopping = null;
      set({ benchRunning: null, benchSamples: [], benchPartial: null, benchError: null });
    },
  };
}
