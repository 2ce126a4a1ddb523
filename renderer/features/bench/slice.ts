/** Benchmarks: the matrix to measure, samples as they come, and the results of this session, newest first. */
import type { Overview } from "../../../main/contract/views/model.ts";
import type { BenchItem, BenchResult } from "../../../main/contract/views/bench.ts";
import { BENCH_HISTORY, identityOf } from "../../../main/contract/views/session.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import { sharedCacheTypes } from "../../devices/cacheTypes.ts";
import { createTask, current, isCancelled } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import { toggleOfTwo } from "../../session/toggleOfTwo.ts";
import type { BenchSettings } from "./settings.ts";
import { earlierThan, entriesOf } from "./history.ts";
import { askedOf, INITIAL_SETTINGS, requestOf } from "./settings.ts";

export type { BenchResult, BenchSettings };
export type BenchSample = Extract<BenchItem, { kind: "sample" }>;
export type BenchPlan = Extract<BenchItem, { kind: "plan" }>;

/** A result with its model. Results outlive the model, so that two models can be compared. */
export interface BenchEntry {
  readonly id: number;
  readonly at: number;
  readonly model: string;
  readonly result: BenchResult;
}

/** By number: two results can end in the same second. Of the history, which has none, by its time. */
export const benchName = ({ id, at }: Pick<BenchEntry, "id" | "at">): string =>
  id > 0
    ? `Bench ${id}`
    : new Date(at).toLocaleString([], {
        day: "numeric",
        month: "short",
        hour: "2-digit",
        minute: "2-digit",
        hour12: false,
      });

export const modelName = ({ title, variant }: Pick<Overview, "title" | "variant">): string =>
  [title, variant].filter((part) => part !== "").join(" ");

export interface RunningBench {
  readonly sentence: string;
  readonly since: number;
  /** It waits for a quiet machine. */
  readonly waiting: boolean;
}

/** What a stopped benchmark measured. */
export interface PartialBench {
  readonly plan: BenchPlan;
  readonly samples: readonly BenchSample[];
}

export interface BenchSlice {
  readonly benchSettings: BenchSettings;
  readonly benchRunning: RunningBench | null;
  /** What is being measured; null until the subjects are ready. */
  readonly benchPlan: BenchPlan | null;
  readonly benchSamples: readonly BenchSample[];
  /** Of the last benchmark if it was stopped; null otherwise. */
  readonly benchPartial: PartialBench | null;
  /** Newest first. */
  readonly benchResults: readonly BenchEntry[];
  /** What was measured of the open model before this session, newest first. */
  readonly benchEarlier: readonly BenchEntry[];
  readonly loadBenchHistory: () => Promise<void>;
  /** At most two results that stand side by side. */
  readonly comparedBench: readonly number[];
  readonly toggleComparedBench: (id: number) => void;
  /** At most two tests of a result, by their place. */
  readonly comparedTests: readonly number[];
  readonly toggleComparedTest: (place: number) => void;
  readonly benchError: WireError | null;
  readonly setBench: (part: Partial<BenchSettings>) => void;
  /** warn: in a machine that is not quiet too, and the result is marked. */
  readonly startBench: (conditions?: "wait" | "warn") => Promise<void>;
  readonly stopBench: () => void;
}

export const MOST_RESULTS = 40;
/** Lines of the history that a window shows. */
const MOST_EARLIER = 200;

/** Behind those of a restored session, too. */
const nextNumber = (results: readonly BenchEntry[]): number => 1 + Math.max(0, ...results.map(({ id }) => id));

export function createBenchSlice({ engine, set, get, on }: SliceTools<BenchSlice>): BenchSlice {
  const task = createTask();
  on("runnerChanged", (device) => get().setBench({ device }));
  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    task.abandon();
    set({ benchRunning: null, benchPlan: null, benchSamples: [], benchPartial: null, benchError: null });
    set({ benchEarlier: [] });
  });
  const say = (sentence: string, waiting = false): void => {
    const { benchRunning } = get();
    if (benchRunning !== null) set({ benchRunning: { ...benchRunning, sentence, waiting } });
  };
  /** Keeps a result of the open model. */
  const keep = (name: string, result: BenchResult): void => {
    const entry = { id: nextNumber(get().benchResults), at: Date.now(), model: name, result };
    set({ benchResults: [entry, ...get().benchResults].slice(0, MOST_RESULTS), comparedTests: [] });
  };
  on("benchMeasured", (result) => {
    const open = current(get().model);
    if (open !== null) keep(modelName(open), result);
  });
  /** Opens the further models for the time of a measurement. */
  const openOthers = async (paths: readonly string[], opened: string[], signal: AbortSignal): Promise<void> => {
    for (const path of paths) {
      say(`Opening ${path}`);
      const { model } = await engine.call("model.open", { source: { kind: "path", path } }, { signal });
      opened.push(model);
    }
  };
  return {
    benchSettings: INITIAL_SETTINGS,
    benchRunning: null,
    benchPlan: null,
    benchSamples: [],
    benchPartial: null,
    benchResults: [],
    benchEarlier: [],
    comparedBench: [],
    comparedTests: [],
    benchError: null,
    async loadBenchHistory() {
      const open = current(get().model);
      if (open === null) return;
      const ask = { kind: BENCH_HISTORY, identity: identityOf(open.title, open.file), limit: MOST_EARLIER };
      // A window without its history still measures: the engine notes what is in the way when it writes.
      const page = await engine.call("history.list", ask).catch(() => ({ entries: [] }));
      if (current(get().model)?.model !== open.model) return;
      set({ benchEarlier: earlierThan(get().benchResults, entriesOf(page, modelName(open))) });
    },
    toggleComparedBench: (id) => set({ comparedBench: toggleOfTwo(get().comparedBench, id) }),
    toggleComparedTest: (place) => set({ comparedTests: toggleOfTwo(get().comparedTests, place) }),
    setBench: (part) => {
      const next = { ...get().benchSettings, ...part };
      const devices = current(get().info)?.devices;
      const measured = [next.device, ...next.otherDevices].map((id) => devices?.find((device) => device.id === id));
      // A type that one of them does not take would refuse the whole benchmark.
      const takes = next.cacheType === null || sharedCacheTypes(measured).includes(next.cacheType);
      set({ benchSettings: takes ? next : { ...next, cacheType: null } });
    },
    async startBench(conditions = "wait") {
      const { model, benchRunning, benchSettings: settings } = get();
      const open = current(model);
      if (open === null || (benchRunning !== null && !benchRunning.waiting)) return;
      const asked = askedOf(settings, open.context.trained);
      if (!asked.ok) return;
      task.stop();
      const { signal, isCurrent } = task.begin();
      set({
        benchRunning: { sentence: "Warming up", since: Date.now(), waiting: false },
        ...{ benchPlan: null, benchSamples: [], benchPartial: null, benchError: null },
      });
      let done = false;
      const opened: string[] = [];
      get().noteCommand({ kind: "bench", ...settings });
      try {
        await openOthers(settings.otherModels, opened, signal);
        const input = { model: open.model, others: opened, conditions, ...requestOf(settings, asked.lists) };
        for await (const item of engine.stream("bench.run", input, { signal })) {
          if (!isCurrent()) return;
          if (item.kind === "phase") say(item.sentence, item.name === "conditions");
          else if (item.kind === "plan") set({ benchPlan: item });
          else if (item.kind === "sample") {
            say(item.warmup ? "Warming up" : item.test === "pp" ? "Measuring prefill" : "Measuring decode");
            // A round that was disturbed is taken again.
            const others = get().benchSamples.filter((each) => !isSameRun(each, item));
            set({ benchSamples: [...others, item] });
          } else {
            done = true;
            keep(modelName(open), item);
          }
        }
      } catch (error) {
        if (!isCancelled(error) && isCurrent()) set({ benchError: toWireError(error) });
      } finally {
        for (const other of opened) void engine.call("model.close", { model: other }).catch(() => undefined);
        if (isCurrent()) {
          const { benchSamples: samples, benchPlan: plan } = get();
          const isPartial = !done && signal.aborted && samples.length > 0 && plan !== null;
          set({ benchRunning: null, benchPlan: null, benchPartial: isPartial ? { plan, samples } : null });
          // What was measured until then is in the history.
          if (isPartial) await get().loadBenchHistory();
        }
      }
    },
    stopBench: task.stop,
  };
}

const isSameRun = (a: BenchSample, b: BenchSample): boolean =>
  a.cell === b.cell && a.index === b.index && a.warmup === b.warmup;
