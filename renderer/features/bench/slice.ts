/** Benchmarks: the settings, samples as they come, and the results of this session, newest first. */
import type { Overview } from "../../../main/contract/views/model.ts";
import type { BenchItem } from "../../../main/contract/views/run.ts";
import { LEAST_REPEATS } from "../../../main/contract/views/run.ts";
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import { DEFAULT_DEVICE } from "../../../main/contract/views/engine.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import { createTask, current, isCancelled } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import { toggleOfTwo } from "../../session/toggleOfTwo.ts";

export interface BenchSettings {
  readonly device: RunDevice;
  readonly promptTokens: number;
  readonly generateTokens: number;
  readonly repeats: number;
  readonly warmup: number;
}
export type BenchSample = Extract<BenchItem, { kind: "sample" }>;
export type BenchResult = Extract<BenchItem, { kind: "done" }>;

/** A result with its model and settings. Results outlive the model, so that two models can be compared. */
export interface BenchEntry {
  readonly id: number;
  readonly at: number;
  readonly model: string;
  readonly settings: BenchSettings;
  readonly result: BenchResult;
}

/** By number: two results can end in the same second. */
export const benchName = ({ id }: Pick<BenchEntry, "id">): string => `Bench ${id}`;

export const modelName = ({ title, variant }: Pick<Overview, "title" | "variant">): string =>
  [title, variant].filter((part) => part !== "").join(" ");

/** What a stopped benchmark measured. */
export interface PartialBench {
  readonly settings: BenchSettings;
  readonly samples: readonly BenchSample[];
}

export interface BenchSlice {
  readonly benchSettings: BenchSettings;
  readonly benchRunning: { readonly sentence: string; readonly since: number } | null;
  readonly benchSamples: readonly BenchSample[];
  /** Of the last benchmark if it was stopped; null otherwise. */
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
}

const MOST_RESULTS = 40;

export function createBenchSlice({ engine, set, get, on }: SliceTools<BenchSlice>): BenchSlice {
  const task = createTask();
  let count = 0;
  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    task.abandon();
    set({ benchRunning: null, benchSamples: [], benchPartial: null, benchError: null });
  });
  const say = (sentence: string): void => {
    const { benchRunning } = get();
    if (benchRunning !== null) set({ benchRunning: { ...benchRunning, sentence } });
  };
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
    toggleComparedBench: (id) => set({ comparedBench: toggleOfTwo(get().comparedBench, id) }),
    setBench: (part) => set({ benchSettings: { ...get().benchSettings, ...part } }),
    async startBench() {
      const { model, benchRunning, benchSettings: settings } = get();
      const open = current(model);
      if (open === null || benchRunning !== null) return;
      const { signal, isCurrent } = task.begin();
      set({
        benchRunning: { sentence: "Warming up", since: Date.now() },
        benchSamples: [],
        benchPartial: null,
        benchError: null,
      });
      let done = false;
      get().noteCommand({ kind: "bench", ...settings });
      try {
        for await (const item of engine.stream("bench.run", { model: open.model, ...settings }, { signal })) {
          if (!isCurrent()) return;
          if (item.kind === "phase") say(item.sentence);
          else if (item.kind === "sample") {
            say(item.warmup ? "Warming up" : item.test === "pp" ? "Measuring prefill" : "Measuring decode");
            set({ benchSamples: [...get().benchSamples, item] });
          } else {
            count += 1;
            done = true;
            const entry = { id: count, at: Date.now(), model: modelName(open), settings, result: item };
            set({ benchResults: [entry, ...get().benchResults].slice(0, MOST_RESULTS) });
          }
        }
      } catch (error) {
        if (!isCancelled(error) && isCurrent()) set({ benchError: toWireError(error) });
      } finally {
        if (isCurrent()) {
          const samples = get().benchSamples;
          const isPartial = !done && signal.aborted && samples.length > 0;
          set({ benchRunning: null, benchPartial: isPartial ? { settings, samples } : null });
        }
      }
    },
    stopBench: task.stop,
  };
}
