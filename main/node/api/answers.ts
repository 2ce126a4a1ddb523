/**
 * The one way of all endpoints to tokens: a prompt waits for its turn at its model, runs through the engine's `run.start`, and
 * comes back as events with what it took. How requests share the engine is for the engine to decide.
 */
import { randomUUID } from "node:crypto";
import type { EngineClient, StreamItemOf } from "../../contract/contract.ts";
import type { Reply, ToolCall } from "../../contract/views/chat.ts";
import type { CacheType, Figure } from "../../contract/views/common.ts";
import type { RunStats, TokenView } from "../../contract/views/run.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { RunInput } from "./fields.ts";
import type { LogEntry, PromptLog } from "./requestLog.ts";
import type { TakenModel } from "./shelf.ts";
import type { Turns } from "./turns.ts";

export interface Wanted {
  readonly prompt: RunInput["prompt"];
  readonly sampling: NonNullable<RunInput["sampling"]>;
  readonly stop: readonly string[];
  /** null: until the model ends, or its context is full. */
  readonly maxTokens: number | null;
  readonly alternatives: number;
  readonly ignoreEnd: boolean;
  /** The answer ends behind its first call of a tool. */
  readonly oneCall: boolean;
  /** Times of each token are kept. */
  readonly timesTokens: boolean;
}

export type Finish = "stop" | "length" | "tool_calls";

/** As llama.cpp names them; milliseconds. `first_token_ms` counts from the request on, with the time in line. */
export interface Timings {
  readonly cache_n: number;
  readonly prompt_n: number;
  readonly prompt_ms: number;
  readonly prompt_per_token_ms: number;
  readonly prompt_per_second: number;
  readonly predicted_n: number;
  readonly predicted_ms: number;
  readonly predicted_per_token_ms: number;
  readonly predicted_per_second: number;
  readonly queue_ms: number;
  readonly first_token_ms: number;
  /** From the first token on, one number for each token. */
  readonly token_ms?: readonly number[];
}

export type AnswerEvent =
  /** The prompt was taken: errors of the request come before. */
  | { readonly kind: "begun" }
  | { readonly kind: "token"; readonly token: TokenView; readonly timings: Timings | null }
  | { readonly kind: "call"; readonly call: ToolCall }
  | { readonly kind: "done"; readonly answer: Answer };

export interface Answer {
  readonly finish: Finish;
  readonly reply: Reply;
  /** null: its calls are all that it says, or would have been. */
  readonly content: string | null;
  readonly stats: RunStats;
  readonly timings: Timings;
  /** Tokens of what was thought. */
  readonly reasoningTokens: number;
}

/** As the engine numbers calls that have no id of their own: by their place in the conversation, so that other answers have the same. */
const NUMBERED = /^call\d{5,}$/u;
/** The id that the model wrote, or a new one: nine letters and digits, because some templates take no other. */
export const callIdOf = (written: string | undefined): string =>
  written === undefined || NUMBERED.test(written) ? randomUUID().replaceAll("-", "").slice(0, 9) : written;

export interface AnswerParts {
  readonly client: EngineClient;
  readonly turns: Turns;
  readonly device: string;
  readonly context: number;
  readonly threads: number | null;
  readonly cacheType: CacheType | null;
}

export interface AnswerContext {
  readonly signal: AbortSignal;
  readonly entry: LogEntry;
  /** Where the numbers of its prompt's answers go, and which of them it is. */
  readonly told: PromptLog;
  readonly index: number;
  /** Another answer of the same request came before. */
  readonly isAdmitted: boolean;
}

/** More than any context. */
const NO_LIMIT = 1_048_576;

export async function* answerTo(
  { client, turns, device, context, threads, cacheType }: AnswerParts,
  model: TakenModel,
  wanted: Wanted,
  { signal, entry, told, index, isAdmitted }: AnswerContext,
): AsyncGenerator<AnswerEvent, void, void> {
  const asked = performance.now();
  const done = await turns.take(model.id, signal, isAdmitted);
  const queueMs = performance.now() - asked;
  entry.update({ state: "answering" });
  const enough = new AbortController();
  const { prompt, sampling, stop, maxTokens, alternatives, ignoreEnd } = wanted;
  const items = client.stream(
    "run.start",
    {
      ...{ model: model.handle, prompt, sampling, stop, alternatives, ignoreEnd, device, context, threads },
      cacheType,
      maxTokens: maxTokens ?? NO_LIMIT,
    },
    { signal: AbortSignal.any([signal, enough.signal]) },
  );
  try {
    const tell = (stats: RunStats, isNews?: boolean): void => told(index, stats, isNews);
    yield* eventsOf(items, wanted, { entry, tell, enough, asked, queueMs });
  } finally {
    // The turn ends when the engine has let go of the answer.
    enough.abort();
    await drained(items);
    done();
  }
}

type Items = AsyncIterableIterator<StreamItemOf<"run.start">>;

async function drained(items: Items): Promise<void> {
  try {
    while ((await items.next()).done !== true);
  } catch {
    // Its error was told, or its client is gone.
  }
}

interface Watched {
  readonly entry: LogEntry;
  readonly tell: (stats: RunStats, isNews?: boolean) => void;
  readonly enough: AbortController;
  readonly asked: number;
  readonly queueMs: number;
}

async function* eventsOf(
  items: Items,
  { prompt, oneCall, timesTokens }: Wanted,
  { entry, tell, enough, asked, queueMs }: Watched,
): AsyncGenerator<AnswerEvent, void, void> {
  const state: { begun: boolean; first: number; promptMs: number; reused: number; promptTokens: number } = {
    ...{ begun: false, first: 0, promptMs: 0, reused: 0, promptTokens: 0 },
  };
  const hasToCall = isForced(prompt);
  let thought = "";
  const times: number[] = [];
  const calls: ToolCall[] = [];
  const named = (call: ToolCall): ToolCall => ({ ...call, id: callIdOf(call.id) });
  let reasoningTokens = 0;
  let generated = 0;
  const timingsSoFar = (at: number): Timings =>
    timingsOf({
      ...{ queueMs, reused: state.reused, promptTokens: state.promptTokens, promptMs: state.promptMs },
      ...{ generated, predictedMs: at * 1000, firstMs: state.first - asked },
    });
  // Not `for await`: leaving the loop would leave the stream before its end.
  for (let next = await items.next(); next.done !== true; next = await items.next()) {
    const item = next.value;
    if (item.kind === "start") state.promptTokens = item.promptTokens;
    if (
      !state.begun &&
      (item.kind === "token" || item.kind === "done" || (item.kind === "phase" && item.name === "read"))
    ) {
      state.begun = true;
      yield { kind: "begun" };
    }
    if (item.kind === "stats") {
      state.promptMs = item.stats.promptSeconds.value * 1000;
      state.reused = item.stats.reusedTokens;
      tell(item.stats);
    } else if (item.kind === "token" && !enough.signal.aborted) {
      const token = hasToCall ? withoutText(item.token) : item.token;
      if (generated === 0) {
        state.first = performance.now();
        if (entry.request().firstTokenSeconds === null)
          entry.update({ firstTokenSeconds: measured((state.first - asked) / 1000) });
      }
      generated += 1;
      if (timesTokens) times.push(token.at * 1000);
      const thoughts = token.pieces.filter(({ part }) => part === "reasoning");
      if (thoughts.length > 0) reasoningTokens += 1;
      if (hasToCall) thought += thoughts.map(({ text }) => text).join("");
      entry.text("answer", token.text);
      yield { kind: "token", token, timings: timesTokens ? timingsSoFar(token.at) : null };
    } else if (item.kind === "call" && !enough.signal.aborted) {
      const call = named(item.call);
      calls.push(call);
      yield { kind: "call", call };
      if (oneCall) enough.abort();
    } else if (item.kind === "done") {
      tell(item.stats, true);
      const finish = finishOf(item, enough.signal.aborted);
      const { promptSeconds, promptTokens, reusedTokens, generated: count, rate } = item.stats;
      const timings = timingsOf({
        ...{ queueMs, promptTokens, reused: reusedTokens, promptMs: promptSeconds.value * 1000, generated: count },
        ...{ predictedMs: lastAt(rate, count) * 1000, firstMs: state.first - asked },
        ...(timesTokens ? { times } : {}),
      });
      const written = item.reply.calls.slice(0, oneCall ? 1 : undefined);
      const reply = {
        ...(hasToCall ? onlyCalls(item.reply, thought) : item.reply),
        calls: written.map((call, at) => calls[at] ?? named(call)),
      };
      const content = reply.content === "" && (hasToCall || reply.calls.length > 0) ? null : reply.content;
      entry.update({ finish });
      yield { kind: "done", answer: { finish, reply, content, stats: item.stats, timings, reasoningTokens } };
      return;
    }
  }
  throw new WorkbenchError("ENGINE_LOST", "[server] the answer ended without its last item");
}

/** The grammar then takes thoughts and calls only. */
const isForced = (prompt: Wanted["prompt"]): boolean =>
  prompt.kind === "chat" && prompt.tools !== undefined && !["auto", "none"].includes(prompt.toolChoice ?? "auto");

/** What looks like text is a piece of a mark that was cut. */
const withoutText = (token: TokenView): TokenView => ({
  ...token,
  pieces: token.pieces.filter(({ part }) => part !== "answer"),
});

/** A call that was cut would stand in the content, marks and all, and so would thoughts whose end is missing. */
const onlyCalls = (reply: Reply, thought: string): Reply => ({
  ...reply,
  reasoning: reply.reasoning === "" ? thought.trim() : reply.reasoning,
  content: "",
});

const measured = (value: number): Figure => ({
  ...{ value, low: null, high: null, unit: "seconds", truth: "measured" },
  basis: "from the request to the first token",
});

/** Seconds from the first token to the last. */
const lastAt = (rate: Figure | null, generated: number): number => (rate === null ? 0 : (generated - 1) / rate.value);

function finishOf(
  { reason, reply }: Extract<StreamItemOf<"run.start">, { readonly kind: "done" }>,
  isEnough: boolean,
): Finish {
  if (isEnough) return "tool_calls";
  if (reason === "cancelled") throw new WorkbenchError("CANCELLED", "[server] the answer was stopped");
  if (reason !== "stop") return "length";
  return reply.calls.length > 0 ? "tool_calls" : "stop";
}

interface Took {
  readonly queueMs: number;
  readonly promptTokens: number;
  readonly reused: number;
  readonly promptMs: number;
  readonly generated: number;
  readonly predictedMs: number;
  readonly firstMs: number;
  readonly times?: readonly number[];
}

const ratio = (a: number, b: number): number => (b > 0 ? a / b : 0);

/** Between n tokens are n - 1 times: a rate is over those. */
function timingsOf({ queueMs, promptTokens, reused, promptMs, generated, predictedMs, firstMs, times }: Took): Timings {
  const fresh = promptTokens - reused;
  return {
    cache_n: reused,
    prompt_n: fresh,
    prompt_ms: promptMs,
    prompt_per_token_ms: ratio(promptMs, fresh),
    prompt_per_second: ratio(1000 * fresh, promptMs),
    predicted_n: generated,
    predicted_ms: predictedMs,
    predicted_per_token_ms: ratio(predictedMs, generated - 1),
    predicted_per_second: ratio(1000 * (generated - 1), predictedMs),
    queue_ms: queueMs,
    first_token_ms: Math.max(0, firstMs),
    ...(times === undefined ? {} : { token_ms: times }),
  };
}

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
  readonly completion_tokens_details: { readonly reasoning_tokens: number };
}

/** Of all answers to one prompt, which counts once. */
export function usageOf(answers: readonly Answer[]): Usage {
  const sum = (of: (answer: Answer) => number): number => answers.reduce((all, answer) => all + of(answer), 0);
  const prompt = answers[0]?.stats.promptTokens ?? 0;
  const completion = sum(({ stats }) => stats.generated);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: answers[0]?.stats.reusedTokens ?? 0 },
    completion_tokens_details: { reasoning_tokens: sum(({ reasoningTokens }) => reasoningTokens) },
  };
}
