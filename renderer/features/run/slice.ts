/** The run tab: a conversation or a completion, its parameters, and what streams in while it goes on. */
import type { Overview } from "../../../main/contract/views/model.ts";
import type { TemplateView } from "../../../main/contract/views/chat.ts";
import { SAMPLING_DEFAULTS, SAMPLING_NUMBERS } from "../../../main/contract/views/run.ts";
import type { Async } from "../../session/async.ts";
import { createTask, current, failed, IDLE, loading, ready } from "../../session/async.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { SliceTools } from "../../session/slice.ts";
import { askedParameters, MAX_RATES, runCommand } from "./asking.ts";
import type { HistorySlice } from "./historySlice.ts";
import type { HybridSlice } from "./hybridSlice.ts";
import type { PairSlice } from "./pairSlice.ts";
import { receiveAnswer } from "./receive.ts";
import type { Answer, Asked, RunMode, RunParameters, ToolResult, Turn } from "./request.ts";
import { DEFAULT_PARAMETERS, EMPTY_ANSWER, runRequest } from "./request.ts";

export interface TalkSlice {
  readonly runMode: RunMode;
  readonly draft: string;
  readonly turns: readonly Turn[];
  readonly parameters: RunParameters;
  /** The current step before the first token; null when nothing runs. */
  readonly running: { readonly sentence: string; readonly stopping: boolean } | null;
  readonly certainty: boolean;
  readonly chosenToken: { readonly turn: number; readonly token: number } | null;
  /** Tokens per second, one sample per report, newest last. */
  readonly rates: readonly number[];
  readonly template: Async<TemplateView>;
  /** Puts the prompt and the parameters of a run, with the seed that it used, into the composer. */
  readonly restoreRun: (id: number) => void;
  readonly setDraft: (text: string) => void;
  readonly setRunMode: (mode: RunMode) => void;
  readonly setParameters: (part: Partial<RunParameters>) => void;
  readonly setCertainty: (on: boolean) => void;
  readonly chooseToken: (at: { readonly turn: number; readonly token: number } | null) => void;
  /** Numbers the runs of the window. */
  readonly nextRunId: () => number;
  /** A run begins: the history closes, no token is chosen. */
  readonly beginRun: (sentence: string) => void;
  readonly endRun: () => void;
  readonly send: () => Promise<void>;
  /** Goes on after the calls of the last answer. */
  readonly giveResults: (results: readonly ToolResult[]) => Promise<void>;
  /** Takes a turn that failed out of the conversation and asks again. */
  readonly resend: (id: number) => Promise<void>;
  readonly stop: () => void;
  readonly clearTurns: () => void;
  readonly loadTemplate: () => Promise<void>;
}

/** Everything of the run tab. */
export type RunSlice = TalkSlice & PairSlice & HistorySlice & HybridSlice;
export type RunState = SessionState & RunSlice;
type Tools = SliceTools<TalkSlice, RunState>;

const NO_TALK = {
  runMode: "chat",
  draft: "",
  turns: [],
  running: null,
  chosenToken: null,
  rates: [],
  template: IDLE,
} as const;

/** For the history. */
const resultsText = (results: readonly ToolResult[]): string =>
  results.map(({ name, content }) => `${name} gave: ${content}`).join("\n");

export function createTalkSlice(tools: Tools): TalkSlice {
  const { set, get, on } = tools;
  const task = createTask();
  let runIds = 0;
  /** The numbers that the open file names: they are its own, and leave with it. */
  let hinted: Partial<RunParameters> | null = null;
  on("modelShown", ({ samplingHints: { values } }) => {
    if (hinted !== null) return;
    hinted = values as Partial<RunParameters>;
    set({ parameters: { ...get().parameters, ...hinted } });
  });
  on("runnerChanged", (device) => set({ parameters: { ...get().parameters, device } }));
  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    task.abandon();
    const before = SAMPLING_NUMBERS.filter((name) => hinted?.[name] !== undefined).map(
      (name) => [name, SAMPLING_DEFAULTS[name]] as const,
    );
    hinted = null;
    set({ ...NO_TALK, parameters: { ...get().parameters, ...Object.fromEntries(before), context: null } });
  });
  return {
    ...NO_TALK,
    parameters: DEFAULT_PARAMETERS,
    certainty: true,
    ...askingActions(tools, task),
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
      const { turns, runHistory, pairTurns } = get();
      const sides = pairTurns.flatMap((pair) => pair.sides);
      // Behind those of a restored session, too.
      runIds = [...turns, ...runHistory, ...sides].reduce((most, { id }) => Math.max(most, id), runIds) + 1;
      return runIds;
    },
    beginRun(sentence) {
      set({ running: { sentence, stopping: false }, chosenToken: null });
      get().showHistory(false, get().historyAt);
    },
    endRun: () => set({ running: null }),
    stop() {
      const { running } = get();
      if (running === null) return;
      set({ running: { ...running, stopping: true } });
      task.stop();
      get().stopPair();
    },
    clearTurns() {
      get().clearPairs();
      set({ turns: [], chosenToken: null, rates: [] });
    },
  };
}

function askingActions(
  tools: Tools,
  task: ReturnType<typeof createTask>,
): Pick<TalkSlice, "send" | "giveResults" | "resend" | "loadTemplate"> {
  const { engine, set, get, emit } = tools;
  /** The pending question for a chat template, and its model. */
  let asking: { readonly model: string; readonly done: Promise<void> } | null = null;

  /** An answer about a model that was closed meanwhile is dropped. */
  const isOpen = ({ model }: Overview): boolean => current(get().model)?.model === model;

  const patch = (id: number, part: (answer: Answer) => Partial<Answer>): void =>
    set({
      turns: get().turns.map((turn) =>
        turn.id === id ? { ...turn, answer: { ...turn.answer, ...part(turn.answer) } } : turn,
      ),
    });

  const ask = async (question: Asked): Promise<void> => {
    const { prompt } = question;
    const { turns, runMode: mode, parameters, model } = get();
    const open = current(model);
    if (open === null) return;
    const id = get().nextRunId();
    const { signal, isCurrent } = task.begin();
    const asked = askedParameters(parameters, open);
    const input = runRequest(open.model, mode, turns, question, asked);
    get().beginRun("Starting");
    set({ turns: [...turns, { id, ...question, answer: EMPTY_ANSWER }], rates: [] });
    get().noteCommand(runCommand(mode, prompt, asked));
    await receiveAnswer(engine, input, signal, {
      isMine: isCurrent,
      patch: (part) => patch(id, part),
      say: (sentence) => set({ running: { sentence, stopping: get().running?.stopping ?? false } }),
      onRate: (rate) => set({ rates: [...get().rates, rate].slice(-MAX_RATES) }),
    });
    if (!isCurrent()) return;
    get().endRun();
    const messages = input.prompt.kind === "chat" ? input.prompt.messages : [];
    const answer = get().turns.find((turn) => turn.id === id)?.answer;
    if (answer === undefined) return;
    get().keepRun(id, { mode, prompt, messages, parameters, pair: null }, answer);
    emit("answered", mode === "chat" ? `${prompt}\n${answer.text}` : prompt + answer.text);
  };

  const askTemplate = async (open: Overview): Promise<void> => {
    set({ template: loading(get().template) });
    try {
      const template = await engine.call("chat.template", { model: open.model });
      if (!isOpen(open)) return;
      set({ template: ready(template) });
      if (template.origin === null) set({ runMode: "completion" });
    } catch (error) {
      if (isOpen(open)) set({ template: failed(error), runMode: "completion" });
    }
  };

  /** A file with a template is asked in another way than one without. False: stopped before that was known. */
  const waitForTemplate = async (): Promise<boolean> => {
    const { signal, isCurrent } = task.begin();
    set({ running: { sentence: "Reading the chat template", stopping: false } });
    const stopped = new Promise((resolve) => signal.addEventListener("abort", resolve));
    await Promise.race([get().loadTemplate(), stopped]);
    if (!isCurrent()) return false;
    get().endRun();
    return !signal.aborted;
  };

  return {
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
      await (get().beside === null ? ask({ prompt: draft, results: [] }) : get().askPair(draft));
    },
    async giveResults(results) {
      if (get().running !== null || current(get().model) === null) return;
      await ask({ prompt: resultsText(results), results });
    },
    async resend(id) {
      const { turns, running } = get();
      const turn = turns.find((each) => each.id === id);
      if (turn === undefined || running !== null || current(get().model) === null) return;
      set({ turns: turns.filter((each) => each !== turn) });
      await ask({ prompt: turn.prompt, results: turn.results });
    },
    async loadTemplate() {
      const open = current(get().model);
      if (open === null || open.kind === "demo-graph") return;
      asking = asking?.model === open.model ? asking : { model: open.model, done: askTemplate(open) };
      const mine = asking;
      await mine.done;
      if (asking === mine) asking = null;
    },
  };
}
