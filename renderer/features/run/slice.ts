/** The run tab: a conversation or a completion, its parameters, and what streams in while it goes on. */
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import type { Overview } from "../../../main/contract/views/model.ts";
import type { HybridView, TemplateView } from "../../../main/contract/views/run.ts";
import type { Async } from "../../session/async.ts";
import { current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import type { SessionState, SliceTools } from "../../session/sessionSlice.ts";
import { askedParameters, MAX_RATES, runCommand } from "./asking.ts";
import type { AskedRun, RunRecord } from "./history.ts";
import { KEPT_RUNS, recordOf } from "./history.ts";
import type { PairSlice } from "./pairSlice.ts";
import { receiveAnswer } from "./receive.ts";
import type { Answer, RunMode, RunParameters, Turn } from "./request.ts";
import { DEFAULT_PARAMETERS, EMPTY_ANSWER, runRequest } from "./request.ts";

export interface RunSlice {
  readonly runMode: RunMode;
  readonly draft: string;
  readonly turns: readonly Turn[];
  readonly parameters: RunParameters;
  /** What is going on before the first token; null when nothing runs. */
  readonly running: { readonly sentence: string; readonly stopping: boolean } | null;
  readonly certainty: boolean;
  readonly chosenToken: { readonly turn: number; readonly token: number } | null;
  /** Tokens per second, one sample per report, newest last. */
  readonly rates: readonly number[];
  readonly template: Async<TemplateView>;
  readonly hybrid: Async<HybridView>;
  /** Where the segments of Core ML run. */
  readonly hybridDevice: HybridDevice;
  readonly setHybridDevice: (device: HybridDevice) => void;
  /** Runs of this session, newest first; a new conversation does not forget them. */
  readonly runHistory: readonly RunRecord[];
  readonly historyShown: boolean;
  /** The run that the history is opened at; null: none in particular. */
  readonly historyAt: number | null;
  /** At most two runs that stand side by side, in the order they were chosen. */
  readonly comparedRuns: readonly number[];
  readonly showHistory: (on: boolean, at?: number | null) => void;
  readonly toggleCompared: (id: number) => void;
  /** Puts the prompt and the parameters of a run, with the seed that it used, into the composer. */
  readonly restoreRun: (id: number) => void;
  readonly setDraft: (text: string) => void;
  readonly setRunMode: (mode: RunMode) => void;
  readonly setParameters: (part: Partial<RunParameters>) => void;
  readonly setCertainty: (on: boolean) => void;
  readonly chooseToken: (at: { readonly turn: number; readonly token: number } | null) => void;
  /** A number of its own for each run of the window. */
  readonly nextRunId: () => number;
  readonly send: () => Promise<void>;
  /** Takes a turn that failed out of the talk and asks again. */
  readonly resend: (id: number) => Promise<void>;
  readonly stop: () => void;
  readonly clearTurns: () => void;
  readonly loadTemplate: () => Promise<void>;
  readonly runHybrid: () => Promise<void>;
  readonly stopHybrid: () => void;
  readonly resetRun: () => void;
}

/** The devices that run a program of Core ML. */
/** null: the first that runs segments. */
export type HybridDevice = RunDevice | null;

type State = SessionState & RunSlice & PairSlice;

export function createRunSlice({ engine, set, get }: SliceTools<State>): RunSlice {
  let stopping: AbortController | null = null;
  let stoppingHybrid: AbortController | null = null;
  let runIds = 0;
  /** The question for the chat template that is under way, and of which model. */
  let asking: { readonly model: string; readonly done: Promise<void> } | null = null;

  /** An answer about a model that was closed meanwhile is dropped. */
  const isOpen = ({ model }: Overview): boolean => current(get().model)?.model === model;

  const patch = (id: number, part: (answer: Answer) => Partial<Answer>): void =>
    set({
      turns: get().turns.map((turn) =>
        turn.id === id ? { ...turn, answer: { ...turn.answer, ...part(turn.answer) } } : turn,
      ),
    });

  const keep = (id: number, asked: AskedRun): void => {
    const { turns, runHistory } = get();
    const answer = turns.find((turn) => turn.id === id)?.answer;
    if (answer === undefined) return;
    set({ runHistory: [recordOf(id, Date.now(), asked, answer), ...runHistory].slice(0, KEPT_RUNS) });
  };

  const ask = async (prompt: string): Promise<void> => {
    const { turns, runMode, parameters, model } = get();
    const open = current(model);
    if (open === null) return;
    const id = get().nextRunId();
    const mine = new AbortController();
    stopping = mine;
    const asked = askedParameters(parameters, open);
    const input = runRequest(open.model, runMode, turns, prompt, asked);
    set({
      turns: [...turns, { id, prompt, answer: EMPTY_ANSWER }],
      running: { sentence: "Starting", stopping: false },
      historyShown: false,
      chosenToken: null,
      rates: [],
    });
    get().noteCommand(runCommand(runMode, prompt, asked));
    await receiveAnswer(engine, input, mine.signal, {
      // What an aborted run still says belongs to a model that is closed.
      isMine: () => stopping === mine,
      patch: (part) => patch(id, part),
      say: (sentence) => set({ running: { sentence, stopping: get().running?.stopping ?? false } }),
      onRate: (rate) => set({ rates: [...get().rates, rate].slice(-MAX_RATES) }),
    });
    if (stopping !== mine) return;
    stopping = null;
    set({ running: null });
    const messages = input.prompt.kind === "chat" ? input.prompt.messages : [];
    keep(id, { mode: runMode, prompt, messages, parameters, pair: null });
  };

  const askTemplate = async (open: Overview): Promise<void> => {
    set({ template: loading(get().template) });
    try {
      const template = await engine.call("chat.template", { model: open.model });
      if (!isOpen(open)) return;
      set({ template: ready(template), ...(template.origin !== null ? {} : { runMode: "completion" as const }) });
    } catch (error) {
      if (isOpen(open)) set({ template: failed(error), runMode: "completion" });
    }
  };

  /** Whether the file has a template decides how it is asked. False: stopped before that was known. */
  const waitForTemplate = async (): Promise<boolean> => {
    const mine = new AbortController();
    stopping = mine;
    set({ running: { sentence: "Reading the chat template", stopping: false } });
    const stopped = new Promise((resolve) => mine.signal.addEventListener("abort", resolve));
    await Promise.race([get().loadTemplate(), stopped]);
    if (stopping !== mine) return false;
    stopping = null;
    set({ running: null });
    return !mine.signal.aborted;
  };

  return {
    runMode: "chat",
    draft: "",
    turns: [],
    parameters: DEFAULT_PARAMETERS,
    running: null,
    certainty: true,
    chosenToken: null,
    rates: [],
    template: IDLE,
    hybrid: IDLE,
    hybridDevice: null,
    setHybridDevice: (hybridDevice) => set({ hybridDevice }),
    runHistory: [],
    historyShown: false,
    historyAt: null,
    comparedRuns: [],
    showHistory: (historyShown, historyAt = null) => set({ historyShown, historyAt }),
    toggleCompared(id) {
      const { comparedRuns } = get();
      set({
        comparedRuns: comparedRuns.includes(id)
          ? comparedRuns.filter((each) => each !== id)
          : [...comparedRuns, id].slice(-2),
      });
    },
    restoreRun(id) {
      const run = get().runHistory.find((each) => each.id === id);
      if (run === undefined) return;
      const { mode, prompt, parameters, seed, device } = run;
      set({ runMode: mode, draft: prompt, parameters: { ...parameters, device, seed: seed ?? parameters.seed } });
    },
    setDraft: (draft) => set({ draft }),
    setRunMode: (runMode) => set({ runMode }),
    setParameters: (part) => set({ parameters: { ...get().parameters, ...part } }),
    setCertainty: (certainty) => set({ certainty }),
    chooseToken: (chosenToken) => set({ chosenToken }),
    nextRunId() {
      runIds += 1;
      return runIds;
    },
    async send() {
      const { draft, running, model, template } = get();
      const open = current(model);
      if (open === null || running !== null || draft.trim() === "") return;
      set({ draft: "" });
      if (template.kind === "idle" || template.kind === "loading") {
        const isKnown = await waitForTemplate();
        if (!isOpen(open)) return;
        if (!isKnown) {
          set({ draft });
          return;
        }
      }
      await (get().beside === null ? ask(draft) : get().askPair(draft));
    },
    async resend(id) {
      const { turns, running } = get();
      const turn = turns.find((each) => each.id === id);
      if (turn === undefined || running !== null || current(get().model) === null) return;
      set({ turns: turns.filter((each) => each !== turn) });
      await ask(turn.prompt);
    },
    stop() {
      const { running } = get();
      if (running === null) return;
      set({ running: { ...running, stopping: true } });
      stopping?.abort();
      get().stopPair();
    },
    clearTurns() {
      get().clearPairs();
      set({ turns: [], chosenToken: null, rates: [] });
    },
    async loadTemplate() {
      const open = current(get().model);
      if (open === null || open.kind === "demo-graph") return;
      asking = asking?.model === open.model ? asking : { model: open.model, done: askTemplate(open) };
      const mine = asking;
      await mine.done;
      if (asking === mine) asking = null;
    },
    async runHybrid() {
      const open = current(get().model);
      const { target } = get();
      const before = get().hybrid;
      if (open === null || target === null || before.kind === "loading") return;
      const mine = new AbortController();
      stoppingHybrid = mine;
      set({ hybrid: loading(before) });
      const device = get().hybridDevice;
      get().noteCommand({ kind: "hybrid", device, target });
      try {
        const input = { model: open.model, target, device } as const;
        const hybrid = await engine.call("hybrid.run", input, { signal: mine.signal });
        if (isOpen(open)) set({ hybrid: ready(hybrid) });
      } catch (error) {
        if (isOpen(open)) set({ hybrid: isCancelled(error) ? before : failed(error) });
      }
    },
    stopHybrid: () => stoppingHybrid?.abort(),
    resetRun() {
      stopping?.abort();
      stopping = null;
      stoppingHybrid?.abort();
      get().clearPairs();
      set({
        turns: [],
        draft: "",
        parameters: { ...get().parameters, context: null },
        running: null,
        chosenToken: null,
        rates: [],
        template: IDLE,
        hybrid: IDLE,
        runMode: "chat",
        runHistory: [],
        historyShown: false,
        historyAt: null,
        comparedRuns: [],
      });
    },
  };
}
