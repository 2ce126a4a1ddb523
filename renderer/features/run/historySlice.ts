/** Runs of this session, newest first. A new conversation does not forget them; another model does. */
import type { SessionState } from "../../session/sessionSlice.ts";
import type { SliceTools } from "../../session/slice.ts";
import { toggleOfTwo } from "../../session/toggleOfTwo.ts";
import type { AskedRun, RunRecord } from "./history.ts";
import { KEPT_RUNS, recordOf } from "./history.ts";
import type { Answer } from "./request.ts";

export interface HistorySlice {
  readonly runHistory: readonly RunRecord[];
  readonly historyShown: boolean;
  /** The run that the history is opened at; null: none in particular. */
  readonly historyAt: number | null;
  /** At most two runs that stand side by side, in the order they were chosen. */
  readonly comparedRuns: readonly number[];
  readonly showHistory: (on: boolean, at?: number | null) => void;
  readonly toggleCompared: (id: number) => void;
  readonly keepRun: (id: number, asked: AskedRun, answer: Answer) => void;
}

const NO_HISTORY = { runHistory: [], historyShown: false, historyAt: null, comparedRuns: [] } as const;

export function createHistorySlice({
  set,
  get,
  on,
}: SliceTools<HistorySlice, SessionState & HistorySlice>): HistorySlice {
  on("modelLeft", ({ opensAgain }) => {
    if (!opensAgain) set(NO_HISTORY);
  });
  return {
    ...NO_HISTORY,
    showHistory: (historyShown, historyAt = null) => set({ historyShown, historyAt }),
    toggleCompared: (id) => set({ comparedRuns: toggleOfTwo(get().comparedRuns, id) }),
    keepRun(id, asked, answer) {
      const record = recordOf(id, Date.now(), asked, answer);
      set({ runHistory: [record, ...get().runHistory].slice(0, KEPT_RUNS) });
    },
  };
}
