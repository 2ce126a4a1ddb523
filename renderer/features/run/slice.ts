/** The run tab: a conversation or a completion, its parameters, and what streams in while it goes on. */
import { isGraphAlone } from "../../../main/contract/views/model.ts";
import type { Overview } from "../../../main/contract/views/model.ts";
import type { TemplateView } from "../../../main/contract/views/chat.ts";
import { SAMPLING_DEFAULTS, SAMPLING_NUMBERS } from "../../../main/contract/views/run.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import type { Async } from "../../session/async.ts";
import { createTask, current, failed, IDLE, loading, ready } from "../../session/async.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { SliceTools } from "../../session/slice.ts";
import { askedParameters, MAX_RATES, runCommand } from "./asking.ts";
import type { HistorySlice } from "./historySlice.ts";
import type { HybridSlice } from "./hybridSlice.ts";
import type { Attachment } from "./attachments.ts";
import { readAttachment } from "./attachments.ts";
import type { ColumnsSlice } from "./columnsSlice.ts";
import type { Conversation } from "./conversation.ts";
import { idsOf, withoutTurn, withTurn } from "./conversation.ts";
import type { ConversationSlice } from "./conversationSlice.ts";
import { allConversations } from "./conversationSlice.ts";
import { receiveAnswer } from "./receive.ts";
import type { Asked, RunMode, RunParameters, ToolResult, Turn } from "./request.ts";
import { DEFAULT_PARAMETERS, EMPTY_ANSWER, runRequest } from "./request.ts";

export interface TalkSlice {
  readonly runMode: RunMode;
  readonly draft: string;
  /** Files that go with the draft. */
  readonly attachments: readonly Attachment[];
  /** The way through the conversation that is shown. */
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
  /** Files that were not attached the last time, and why. */
  readonly refusedFiles: readonly { readonly name: string; readonly error: WireError }[];
  readonly attach: (files: readonly File[]) => Promise<void>;
  readonly dismissRefused: () => void;
  readonly detach: (name: string) => void;
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
  /** Another answer to a turn, beside the one that it has; what followed it is another way. */
  readonly regenerate: (id: number) => Promise<void>;
  /** The turn with another question, as another way. */
  readonly editTurn: (id: number, prompt: string) => Promise<void>;
  readonly stop: () => void;
  /** Another conversation takes the place of what is shown. */
  readonly showTalk: (conversation: Conversation) => void;
  readonly showTurns: (turns: readonly Turn[]) => void;
  readonly loadTemplate: () => Promise<void>;
}

/** Everything of the run tab. */
export type RunSlice = TalkSlice & ConversationSlice & ColumnsSlice & HistorySlice & HybridSlice;
export type RunState = SessionState & RunSlice;
type Tools = SliceTools<TalkSlice, RunState>;

const NO_TALK = {
  runMode: "chat",
  draft: "",
  attachments: [],
  refusedFiles: [],
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
  // Another device may not take the type.
  on("runnerChanged", (device) => set({ parameters: { ...get().parameters, device, cacheType: null } }));
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
    async attach(files) {
      set({ refusedFiles: [] });
      for (const file of files) {
        try {
          const read = await readAttachment(file, get().attachments.length);
          // The same file again is its newer version.
          set({ attachments: [...get().attachments.filter(({ name }) => name !== read.name), read] });
        } catch (error) {
          set({ refusedFiles: [...get().refusedFiles, { name: file.name, error: toWireError(error) }] });
        }
      }
    },
    dismissRefused: () => set({ refusedFiles: [] }),
    detach: (name) => set({ attachments: get().attachments.filter((each) => each.name !== name) }),
    setRunMode: (runMode) => set({ runMode }),
    setParameters: (part) => set({ parameters: { ...get().parameters, ...part } }),
    setCertainty: (certainty) => set({ certainty }),
    chooseToken: (chosenToken) => set({ chosenToken }),
    nextRunId() {
      const ids = [...allConversations(get()).flatMap(idsOf), ...get().runHistory.map(({ id }) => id)];
      // Behind those of a restored session, too.
      runIds = ids.reduce((most, id) => Math.max(most, id), runIds) + 1;
      return runIds;
    },
    beginRun(sentence) {
      set({ running: { sentence, stopping: false }, chosenToken: null });
      get().showHistory(false, get().historyAt);
      get().touchConversation();
    },
    endRun: () => set({ running: null }),
    stop() {
      const { running } = get();
      if (running === null) return;
      set({ running: { ...running, stopping: true } });
      task.stop();
      get().stopColumns();
    },
    showTalk({ mode, draft, attachments, system, turns, columnTurns }) {
      set({ runMode: mode, draft, attachments, refusedFiles: [], turns, chosenToken: null, rates: [] });
      set({ parameters: { ...get().parameters, system } });
      get().showColumnTurns(columnTurns);
      get().showHistory(false);
    },
    showTurns: (turns) => set({ turns }),
  };
}

function askingActions(
  tools: Tools,
  task: ReturnType<typeof createTask>,
): Pick<TalkSlice, "send" | "giveResults" | "resend" | "regenerate" | "editTurn" | "loadTemplate"> {
  const { engine, set, get, emit } = tools;
  /** The pending question for a chat template, and its model. */
  let asking: { readonly model: string; readonly done: Promise<void> } | null = null;

  /** An answer about a model that was closed meanwhile is dropped. */
  const isOpen = ({ model }: Overview): boolean => current(get().model)?.model === model;

  /** Asks behind the first `at` turns of the way that is shown. */
  const ask = async (question: Asked, at = get().turns.length): Promise<void> => {
    const { prompt } = question;
    const { turns, others, runMode: mode, parameters, model } = get();
    const open = current(model);
    if (open === null) return;
    const id = get().nextRunId();
    const { signal, isCurrent } = task.begin();
    const asked = askedParameters(parameters, open);
    const before = turns.slice(0, at);
    const input = runRequest(open.model, mode, before, question, asked);
    get().beginRun("Starting");
    const turn: Turn = { id, after: before.at(-1)?.id ?? null, ...question, answer: EMPTY_ANSWER };
    get().showWays(withTurn({ turns, others }, at, turn));
    set({ rates: [] });
    get().noteCommand(runCommand(mode, prompt, asked));
    await receiveAnswer(engine, input, signal, {
      isMine: isCurrent,
      patch: (part) => get().patchTurn(id, (each) => ({ ...each, answer: { ...each.answer, ...part(each.answer) } })),
      say: (sentence) => set({ running: { sentence, stopping: get().running?.stopping ?? false } }),
      onRate: (rate) => set({ rates: [...get().rates, rate].slice(-MAX_RATES) }),
    });
    if (!isCurrent()) return;
    get().endRun();
    const messages = input.prompt.kind === "chat" ? input.prompt.messages : [];
    const answer = get().turnOf(id)?.answer;
    if (answer === undefined) return;
    get().keepRun(id, { mode, prompt, messages, parameters, pair: null, model: null }, answer);
    emit("answered", mode === "chat" ? `${prompt}\n${answer.text}` : prompt + answer.text);
  };

  /** Asks a turn again, behind what stands before it. */
  const askAgain = async (id: number, prompt: string | null): Promise<void> => {
    const { turns, running, model } = get();
    const at = turns.findIndex((each) => each.id === id);
    const turn = turns[at];
    if (turn === undefined || running !== null || current(model) === null) return;
    const { attachments, results } = turn;
    await ask({ attachments, ...(prompt === null ? { prompt: turn.prompt, results } : { prompt, results: [] }) }, at);
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
      const { draft, attachments, running, model, template } = get();
      const open = current(model);
      if (open === null || running !== null || (draft.trim() === "" && attachments.length === 0)) return;
      set({ draft: "", attachments: [], refusedFiles: [] });
      if (template.kind === "idle" || template.kind === "loading") {
        const isKnown = await waitForTemplate();
        if (!isOpen(open)) return;
        if (!isKnown) {
          set({ draft, attachments });
          return;
        }
      }
      await (get().beside.length === 0
        ? ask({ prompt: draft, attachments, results: [] })
        : get().askColumns(draft, attachments));
    },
    async giveResults(results) {
      if (get().running !== null || current(get().model) === null) return;
      await ask({ prompt: resultsText(results), attachments: [], results });
    },
    async resend(id) {
      const { turns, others, running } = get();
      const turn = turns.find((each) => each.id === id);
      if (turn === undefined || running !== null || current(get().model) === null) return;
      get().showWays(withoutTurn({ turns, others }, id));
      const { prompt, attachments, results } = turn;
      await ask({ prompt, attachments, results });
    },
    regenerate: (id) => askAgain(id, null),
    editTurn: (id, prompt) => askAgain(id, prompt),
    async loadTemplate() {
      const open = current(get().model);
      if (open === null || isGraphAlone(open.kind)) return;
      asking = asking?.model === open.model ? asking : { model: open.model, done: askTemplate(open) };
      const mine = asking;
      await mine.done;
      if (asking === mine) asking = null;
    },
  };
}
