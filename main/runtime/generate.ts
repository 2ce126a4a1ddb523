/**
 * Generation: feed the prompt (keeping what the cache already holds of it), then draw token after token. However the loop
 * ends, the session then holds exactly the prompt and the tokens that were given out, but for the last.
 */
import type { SampledToken, TokenProbability, SampleOptions } from "../ir/session.ts";
import { WorkbenchError, toWireError } from "../diagnostics/errors.ts";
import type { DecoderSession } from "./decoderSession.ts";
import { WHY_AGAIN } from "./decoderSession.ts";
import type { DrawnToken } from "./tokenStream.ts";
import type { PlainSampling, PreparedSampling } from "./sampling/settings.ts";
import { startChain } from "./sampling/settings.ts";
import { StopText } from "./stopText.ts";

export const GREEDY: PlainSampling = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  repeatPenalty: 1,
  repeatLast: 64,
  seed: 0,
};

const { repeatLast: _unused, ...greedySettings } = GREEDY;
/** One draw of the most probable token, with nothing that a penalty counts: for benchmarks and profiles. */
export const GREEDY_DRAW: SampleOptions = { ...greedySettings, recent: new Int32Array(0), step: 0, alternatives: 0 };

/** What generation needs of a tokenizer. */
export interface TextSource {
  readonly endings: ReadonlySet<number>;
  readonly detokenizer: () => { push(id: number): string; open(): boolean; flush(): string };
}

export interface GenerateOptions {
  readonly prompt: ArrayLike<number>;
  readonly sampling: PreparedSampling;
  readonly maxTokens: number;
  readonly stop?: readonly string[];
  /** Alternatives to report for each token. */
  readonly alternatives?: number;
  readonly signal?: AbortSignal;
  readonly now?: () => number;
  /** Go on after an end-of-generation token: for benchmarks. */
  readonly ignoreEnd?: boolean;
}

export type FinishReason = "stop" | "length" | "cancelled" | "context-full";

export interface GenerateStats {
  readonly promptTokens: number;
  /** Tokens of the prompt that the session still held and did not run again. */
  readonly reusedTokens: number;
  /** Tokens that it held and had to run again, and why. */
  readonly recomputed?: { readonly tokens: number; readonly because: string };
  readonly promptSeconds: number;
  readonly firstTokenSeconds: number | undefined;
  readonly generated: number;
  /** From the first token to the last. */
  readonly generateSeconds: number;
  readonly contextUsed: number;
  readonly contextSize: number;
  readonly cacheBytes: number;
}

export type GenerateEvent =
  | { readonly kind: "prompt"; readonly done: number; readonly total: number; readonly reused: number }
  | {
      readonly kind: "token";
      readonly id: number;
      /** Final text of this token; may be empty when it holds half a character. */
      readonly text: string;
      readonly logprob: number;
      readonly top: readonly TokenProbability[];
      readonly stats: GenerateStats;
    }
  | { readonly kind: "done"; readonly reason: FinishReason; readonly found?: string; readonly stats: GenerateStats };

interface Clock {
  readonly start: number;
  promptEnd: number | undefined;
  first: number | undefined;
  last: number | undefined;
  generated: number;
}

export async function* generate(
  session: DecoderSession,
  text: TextSource,
  options: GenerateOptions,
): AsyncGenerator<GenerateEvent, void, void> {
  const now = options.now ?? ((): number => performance.now() / 1000);
  const clock: Clock = { start: now(), promptEnd: undefined, first: undefined, last: undefined, generated: 0 };
  const prompt = Array.from(options.prompt);
  const { reader } = session.facts;
  if (prompt.length === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", "[generate] the prompt is empty", {
      hint: "Give at least one token; most models begin with BOS.",
    });
  const { capacity } = session.facts;
  if (prompt.length > capacity && reader === undefined)
    throw new WorkbenchError(
      "RUN_CONTEXT_FULL",
      `[generate] the prompt: got ${prompt.length} tokens, expected at most ${capacity}, which the context holds`,
      { hint: "Shorten it, or give a larger context where the model knows one." },
    );
  // An encoder reads a prompt as a whole, or has read it.
  const known = session.hasRead(prompt) ? prompt.length : 0;
  const shared = reader === undefined ? session.shared(prompt) : known;
  const reused = reader === undefined ? session.reuse(prompt) : known;
  const { rewind } = session.facts;
  const recomputed =
    shared > reused && rewind !== "positions"
      ? { recomputed: { tokens: shared - reused, because: WHY_AGAIN[rewind] } }
      : {};
  const stats = (): GenerateStats => ({
    promptTokens: prompt.length,
    reusedTokens: reused,
    ...recomputed,
    promptSeconds: (clock.promptEnd ?? now()) - clock.start,
    firstTokenSeconds: clock.first === undefined ? undefined : clock.first - clock.start,
    generated: clock.generated,
    generateSeconds: clock.first === undefined || clock.last === undefined ? 0 : clock.last - clock.first,
    contextUsed: session.past,
    contextSize: session.facts.capacity,
    cacheBytes: session.cacheBytes,
  });

  const written = reader === undefined ? prompt : [reader.start];
  const sampling = startChain(options.sampling, written, options.alternatives ?? 0);
  const take = reader === undefined ? feedPrompt : readPrompt;
  const first = yield* take(session, prompt, reused, { ...options, sample: sampling([], 0) }, stats);
  clock.promptEnd = now();
  if (first === undefined) {
    yield { kind: "done", reason: "cancelled", stats: stats() };
    return;
  }
  const scan = new StopText<SampledToken>(options.stop ?? []);
  const words = text.detokenizer();
  const event = (token: SampledToken, shown: string): GenerateEvent => ({
    kind: "token",
    id: token.id,
    text: shown,
    logprob: token.logprob,
    top: token.top,
    stats: stats(),
  });
  const drawn = session.draw(first.id, {
    count: options.maxTokens - 1,
    sampling: (known, step) => sampling(known, step + 1),
    endings: options.ignoreEnd === true ? undefined : Int32Array.from(text.endings),
    signal: options.signal,
  });
  let reason: FinishReason = "length";
  let found: string | undefined;
  try {
    for (let next: DrawnToken | undefined = { ...first, ago: 0 }; ;) {
      if (next === undefined) {
        reason = clock.generated < options.maxTokens ? "context-full" : "length";
        break;
      }
      if (options.ignoreEnd !== true && text.endings.has(next.id)) {
        reason = "stop";
        break;
      }
      // Tokens of one run come together, but were drawn one after the other.
      clock.last = Math.max(clock.last ?? 0, now() - next.ago);
      clock.first ??= clock.last;
      clock.generated++;
      const scanned = scan.push(next, words.push(next.id), words.open());
      for (const { token, text: shown } of scanned.ready) yield event(token, shown);
      if (scanned.found !== undefined) {
        reason = "stop";
        found = scanned.found;
        break;
      }
      const step = await orCancelled(drawn.next());
      if (step === undefined) {
        reason = "cancelled";
        break;
      }
      next = step.done === true ? undefined : step.value;
    }
    if (found === undefined) for (const { token, text: shown } of scan.flush(words.flush())) yield event(token, shown);
  } finally {
    await drawn.return();
  }
  yield { kind: "done", reason, ...(found === undefined ? {} : { found }), stats: stats() };
}

/** Runs the prompt with progress; undefined when it was cancelled. */
async function* feedPrompt(
  session: DecoderSession,
  prompt: readonly number[],
  reused: number,
  options: GenerateOptions & { readonly sample: SampleOptions },
  stats: () => GenerateStats,
): AsyncGenerator<GenerateEvent, SampledToken | undefined, void> {
  const total = prompt.length;
  yield { kind: "prompt", done: reused, total, reused };
  // Chunk by chunk here, so that progress is an event of this stream.
  for (let at = reused; at < total;) {
    const end = Math.min(total, at + session.chunk);
    const last = end === total;
    const sample = last ? { sample: options.sample } : {};
    let cancelled = false;
    const sampled = await session
      .feed(prompt.slice(at, end), { signal: options.signal, checkpoint: last, ...sample })
      .catch((error: unknown) => {
        if (toWireError(error).code !== "CANCELLED") throw error;
        cancelled = true;
        return undefined;
      });
    if (cancelled) return undefined;
    at = end;
    yield { kind: "prompt", done: at, total, reused: stats().reusedTokens };
    if (last) return sampled;
  }
  return undefined;
}

/** The same where an encoder reads the prompt: the decoder then begins with its first token. */
async function* readPrompt(
  session: DecoderSession,
  prompt: readonly number[],
  reused: number,
  { signal, sample }: GenerateOptions & { readonly sample: SampleOptions },
): AsyncGenerator<GenerateEvent, SampledToken | undefined, void> {
  const total = prompt.length;
  yield { kind: "prompt", done: reused, total, reused };
  const fed = await orCancelled(session.begin(prompt, signal));
  if (fed === undefined) return undefined;
  session.reuse(fed);
  const sampled = await orCancelled(session.feed(fed, { signal, sample }));
  yield { kind: "prompt", done: total, total, reused };
  return sampled;
}

async function orCancelled<T>(step: Promise<T>): Promise<T | undefined> {
  try {
    return await step;
  } catch (error) {
    if (toWireError(error).code === "CANCELLED") return undefined;
    throw error;
  }
}
