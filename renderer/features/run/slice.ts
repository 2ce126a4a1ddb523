/** The run tab: a conversation or a completion, its parameters, and what streams in while it goes on. */
import type { StreamInputOf, StreamItemOf } from "../../../main/contract/contract.ts";
import type { Overview } from "../../../main/contract/views/model.ts";
import type { HybridView, TemplateView, TokenView } from "../../../main/contract/views/run.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import type { Async } from "../../session/async.ts";
import { current, failed, IDLE, ready } from "../../session/async.ts";
import type { SessionState, SliceTools } from "../../session/sessionSlice.ts";
import type { RunRecord } from "./history.ts";
import type { AskedRun } from "./history.ts";
import { KEPT_RUNS, recordOf } from "./history.ts";
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
  /** Runs of this session, newest first; a new conversation does not forget them. */
  readonly runHistory: readonly RunRecord[];
  readonly historyShown: boolean;
  /** At most two runs that stand side by side, in the order they were chosen. */
  readonly comparedRuns: readonly number[];
  readonly showHistory: (on: boolean) => void;
  readonly toggleCompared: (id: number) => void;
  /** Puts the prompt and the parameters of a run, with the seed that it used, into the composer. */
  readonly restoreRun: (id: number) => void;
  readonly setDraft: (text: string) => void;
  readonly setRunMode: (mode: RunMode) => void;
  readonly setParameters: (part: Partial<RunParameters>) => void;
  readonly setCertainty: (on: boolean) => void;
  readonly chooseToken: (at: { readonly turn: number; readonly token: number } | null) => void;
  readonly send: () => Promise<void>;
  /** Takes a turn that failed out of the talk and asks again. */
  readonly resend: (id: number) => Promise<void>;
  readonly stop: () => void;
  readonly clearTurns: () => void;
  readonly loadTemplate: () => Promise<void>;
  readonly runHybrid: () => Promise<void>;
  readonly resetRun: () => void;
}

type State = SessionState & RunSlice;

const MAX_RATES = 240;

export function createRunSlice({ engine, set, get }: SliceTools<State>): RunSlice {
  let stopping: AbortController | null = null;
  let turnIds = 0;

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

  const receive = async (id: number, input: StreamInputOf<"run.start">, mine: AbortController): Promise<void> => {
    // Tokens may come faster than the screen: they are put down once a frame.
    let waiting: TokenView[] = [];
    let planned: ReturnType<typeof setTimeout> | null = null;
    const flush = (): void => {
      if (planned !== null) clearTimeout(planned);
      planned = null;
      const tokens = waiting;
      waiting = [];
      if (tokens.length > 0)
        patch(id, (answer) => ({
          tokens: [...answer.tokens, ...tokens],
          text: answer.text + tokens.map(({ text }) => text).join(""),
        }));
    };
    const put = (item: StreamItemOf<"run.start">): void => {
      switch (item.kind) {
        case "phase":
          set({ running: { sentence: item.sentence, stopping: get().running?.stopping ?? false } });
          break;
        case "start":
          patch(id, () => ({ truth: item.truth, seed: item.seed }));
          set({
            running: { sentence: `Reading ${item.promptTokens} tokens`, stopping: get().running?.stopping ?? false },
          });
          break;
        case "token":
          waiting.push(item.token);
          planned ??= setTimeout(flush, 16);
          break;
        case "stats": {
          patch(id, () => ({ stats: item.stats }));
          const now = item.stats.rateNow?.value;
          if (now !== undefined) set({ rates: [...get().rates, now].slice(-MAX_RATES) });
          break;
        }
        case "done":
          flush();
          patch(id, () => ({ stats: item.stats, end: item.sentence }));
          break;
      }
    };
    try {
      for await (const item of engine.stream("run.start", input, { signal: mine.signal })) {
        // What an aborted run still says belongs to a model that is closed.
        if (stopping !== mine) return;
        put(item);
      }
    } finally {
      // Tokens that came before an error are shown, too.
      flush();
    }
  };

  const ask = async (prompt: string): Promise<void> => {
    const { turns, runMode, parameters, model } = get();
    const open = current(model);
    if (open === null) return;
    turnIds += 1;
    const id = turnIds;
    const mine = new AbortController();
    stopping = mine;
    // The window's context length holds for runs too, unless this run asks for another.
    const context = parameters.context ?? open.context.chosen;
    const maxTokens = Math.min(parameters.maxTokens, context);
    const asked = { ...parameters, context, maxTokens };
    const input = runRequest(open.model, runMode, turns, prompt, asked);
    set({
      turns: [...turns, { id, prompt, answer: EMPTY_ANSWER }],
      running: { sentence: "Starting", stopping: false },
      historyShown: false,
      chosenToken: null,
      rates: [],
    });
    get().noteCommand(
      runMode === "chat" ? { kind: "chat", message: prompt, ...asked } : { kind: "run", prompt, ...asked },
    );
    try {
      await receive(id, input, mine);
      patch(id, (answer) => ({ end: answer.end ?? "It ended without a report." }));
    } catch (error) {
      const wire = toWireError(error);
      patch(id, () => (wire.code === "CANCELLED" ? { end: "Stopped by you." } : { end: "Failed.", error: wire }));
    } finally {
      if (stopping === mine) {
        stopping = null;
        set({ running: null });
        const messages = input.prompt.kind === "chat" ? input.prompt.messages : [];
        keep(id, { mode: runMode, prompt, messages, parameters });
      }
    }
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
    runHistory: [],
    historyShown: false,
    comparedRuns: [],
    showHistory: (historyShown) => set({ historyShown }),
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
      const { mode, prompt, parameters, seed } = run;
      set({ runMode: mode, draft: prompt, parameters: { ...parameters, seed: seed ?? parameters.seed } });
    },
    setDraft: (draft) => set({ draft }),
    setRunMode: (runMode) => set({ runMode }),
    setParameters: (part) => set({ parameters: { ...get().parameters, ...part } }),
    setCertainty: (certainty) => set({ certainty }),
    chooseToken: (chosenToken) => set({ chosenToken }),
    async send() {
      const { draft, running, model } = get();
      if (current(model) === null || running !== null || draft.trim() === "") return;
      set({ draft: "" });
      await ask(draft);
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
    },
    clearTurns: () => set({ turns: [], chosenToken: null, rates: [] }),
    async loadTemplate() {
      const open = current(get().model);
      if (open === null || open.kind === "demo-graph") return;
      try {
        const template = await engine.call("chat.template", { model: open.model });
        if (!isOpen(open)) return;
        set({ template: ready(template), ...(template.present ? {} : { runMode: "completion" as const }) });
      } catch (error) {
        if (isOpen(open)) set({ template: failed(error), runMode: "completion" });
      }
    },
    async runHybrid() {
      const open = current(get().model);
      const { target } = get();
      if (open === null || target === null) return;
      set({ hybrid: { kind: "loading", previous: current(get().hybrid) } });
      try {
        const hybrid = await engine.call("hybrid.run", { model: open.model, target });
        if (isOpen(open)) set({ hybrid: ready(hybrid) });
      } catch (error) {
        if (isOpen(open)) set({ hybrid: failed(error) });
      }
    },
    resetRun() {
      stopping?.abort();
      stopping = null;
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
        comparedRuns: [],
      });
    },
  };
}
