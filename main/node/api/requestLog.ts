/** What was asked of a server and how it went: the last requests, and news of each as it goes on. No texts unless chosen. */
import type { ServerRequest } from "../../contract/views/server.ts";
import type { RunStats } from "../../contract/views/run.ts";

type Changes = Partial<Omit<ServerRequest, "id" | "at" | "method" | "path">>;

export interface LogEntry {
  readonly request: () => ServerRequest;
  /** `isNews` false: a number that moves all the time, of which listeners hear now and then. */
  update(changes: Changes, isNews?: boolean): void;
  /** Something of the request was left out: the log says so, because the answer cannot. */
  note(sentence: string): void;
  /** The answers to one more prompt of the request. */
  prompt(): PromptLog;
  /** Only where texts are kept. */
  text(part: "prompt" | "answer", text: string): void;
}

/** Numbers of an answer, by its place among those to the same prompt, that goes on or has ended. */
export type PromptLog = (index: number, stats: RunStats, isNews?: boolean) => void;

export interface RequestLog {
  begin(method: string, path: string): LogEntry;
  /** The last ones, oldest first. */
  last(): readonly ServerRequest[];
  served(): number;
  listen(listener: RequestListener): () => void;
}

export interface Beside {
  /** What its conversation held and had to run again, and why. */
  readonly recomputed: RunStats["recomputed"];
  readonly notes: readonly string[];
}
export type RequestListener = (request: ServerRequest, beside: Beside) => void;

const MOST = 500;
/** Characters that are kept of a prompt or an answer. */
const LONGEST_TEXT = 20_000;
const NEWS_EVERY_MS = 250;

export function createRequestLog(keepsTexts: boolean): RequestLog {
  const entries: LogEntry[] = [];
  const listeners = new Set<RequestListener>();
  let next = 1;
  let served = 0;
  return {
    last: () => entries.map((entry) => entry.request()),
    served: () => served,
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    begin(method, path) {
      const started = performance.now();
      let told = -Infinity;
      let beside: Beside = { recomputed: null, notes: [] };
      const prompts: (RunStats | undefined)[][] = [];
      let request: ServerRequest = {
        ...{ id: next++, at: Date.now(), method, path, model: null, state: "waiting", status: null, error: null },
        ...{ promptTokens: 0, reusedTokens: 0, generatedTokens: 0, promptRate: null, rate: null },
        ...{ firstTokenSeconds: null, seconds: 0, finish: null, prompt: null, answer: null },
      };
      const isOver = (): boolean => request.state === "done" || request.state === "left";
      const entry: LogEntry = {
        request: () => request,
        update(changes, isNews = true) {
          if (isOver()) return;
          const now = performance.now();
          request = { ...request, ...changes, seconds: (now - started) / 1000 };
          if (isOver()) served += 1;
          if (!isNews && now - told < NEWS_EVERY_MS) return;
          told = now;
          for (const listener of [...listeners]) listener(request, beside);
        },
        note(sentence) {
          beside = { ...beside, notes: [...beside.notes, sentence] };
        },
        prompt() {
          const answers: (RunStats | undefined)[] = [];
          prompts.push(answers);
          return (index, stats, isNews = false) => {
            answers[index] = stats;
            const all = together(prompts);
            beside = { ...beside, recomputed: all.recomputed };
            entry.update(all.changes, isNews);
          };
        },
        text(part, text) {
          if (!keepsTexts) return;
          const known = request[part] ?? "";
          if (known.length < LONGEST_TEXT) entry.update({ [part]: (known + text).slice(0, LONGEST_TEXT) }, false);
        },
      };
      entries.push(entry);
      if (entries.length > MOST) entries.shift();
      for (const listener of [...listeners]) listener(request, beside);
      return entry;
    },
  };
}

interface Together {
  readonly changes: Changes;
  readonly recomputed: RunStats["recomputed"];
}

/** As usage has them: each prompt counts once, by its first answer. A rate is of one answer alone. */
function together(prompts: readonly (readonly (RunStats | undefined)[])[]): Together {
  const answers = prompts.flat().filter((stats) => stats !== undefined);
  const first = prompts.flatMap((each) => each.find((stats) => stats !== undefined) ?? []);
  const sum = (of: readonly RunStats[], count: (stats: RunStats) => number): number =>
    of.reduce((all, stats) => all + count(stats), 0);
  const again = first.flatMap(({ recomputed }) => recomputed ?? []);
  const [only, ...more] = answers;
  const { promptRate = null, rate = null } = more.length === 0 ? (only ?? {}) : {};
  return {
    changes: {
      promptTokens: sum(first, (stats) => stats.promptTokens),
      reusedTokens: sum(first, (stats) => stats.reusedTokens),
      generatedTokens: sum(answers, (stats) => stats.generated),
      promptRate,
      rate,
    },
    recomputed:
      again[0] === undefined ? null : { ...again[0], tokens: again.reduce((all, { tokens }) => all + tokens, 0) },
  };
}
