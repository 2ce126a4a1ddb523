/** Runs that are kept on this machine: the list, and those that are looked at side by side. */
import type { Output } from "../../../main/contract/contract.ts";
import type { TrainRun } from "../../../main/contract/views/train.ts";
import type { Async } from "../../session/async.ts";
import { createQuestions, current, IDLE } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import { MOST_CURVES } from "../../ui/LineChart.tsx";

type TrainRuns = Output<"train.runs">;

export interface KeptRunsSlice {
  readonly trainRuns: Async<TrainRuns>;
  /** Ids of those that stand side by side, in the order in which they were chosen. */
  readonly shownRuns: readonly string[];
  /** What is known of them. */
  readonly runDetails: Readonly<Record<string, TrainRun>>;
  readonly loadTrainRuns: () => Promise<void>;
  readonly toggleTrainRun: (run: string) => Promise<void>;
  readonly forgetTrainRun: (run: string) => Promise<void>;
}

export function createKeptRunsSlice({ engine, set, get }: SliceTools<KeptRunsSlice>): KeptRunsSlice {
  const questions = createQuestions();
  const without = (run: string): void => {
    const { [run]: _, ...runDetails } = get().runDetails;
    set({ shownRuns: get().shownRuns.filter((each) => each !== run), runDetails });
  };
  const look = async (run: string): Promise<void> => {
    try {
      const details = await engine.call("train.run", { run });
      if (get().shownRuns.includes(run)) set({ runDetails: { ...get().runDetails, [run]: details } });
    } catch (error) {
      without(run);
      get().notifyError("The run could not be read", error);
    }
  };
  return {
    trainRuns: IDLE,
    shownRuns: [],
    runDetails: {},
    async loadTrainRuns() {
      await questions.ask(
        get().trainRuns,
        () => engine.call("train.runs", {}),
        (trainRuns) => set({ trainRuns }),
      );
      // One that went on meanwhile has grown.
      const running = (run: string): boolean => ["running", "paused"].includes(get().runDetails[run]?.row.state ?? "");
      await Promise.all(get().shownRuns.filter(running).map(look));
    },
    async toggleTrainRun(run) {
      const { shownRuns } = get();
      if (shownRuns.includes(run)) return without(run);
      // More could not be told apart: the one that has been there longest goes.
      if (shownRuns.length >= MOST_CURVES && shownRuns[0] !== undefined) without(shownRuns[0]);
      set({ shownRuns: [...get().shownRuns, run] });
      await look(run);
    },
    async forgetTrainRun(run) {
      try {
        await engine.call("train.forget", { run });
        without(run);
        const { trainRuns } = get();
        const list = current(trainRuns);
        if (list !== null)
          set({ trainRuns: { kind: "ready", value: { ...list, runs: list.runs.filter((row) => row.run !== run) } } });
      } catch (error) {
        get().notifyError("The run could not be forgotten", error);
      }
    },
  };
}
