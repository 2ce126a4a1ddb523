/** The benchmark of a decoder: prompt processing and generation, with warm-up and repeats. Tokens are seeded, never sampled text. */
import { invariant, throwIfCancelled } from "../diagnostics/errors.ts";
import type { DecoderSession } from "./decoderSession.ts";
import { GREEDY_DRAW } from "./generate.ts";
import type { Interval } from "./statistics.ts";
import { deviation, mean, median, medianInterval, seededRandom } from "./statistics.ts";

export interface BenchOptions {
  /** 0 leaves the test out. */
  readonly promptTokens: number;
  readonly generateTokens: number;
  readonly repeats: number;
  readonly warmup: number;
  readonly seed?: number;
  readonly signal?: AbortSignal;
  readonly now?: () => number;
  readonly onSample?: (sample: BenchSample) => void;
}

export type BenchTestName = "pp" | "tg";

export interface BenchSample {
  readonly test: BenchTestName;
  readonly index: number;
  readonly warmup: boolean;
  readonly seconds: number;
  /** Tokens per second. */
  readonly rate: number;
}

export interface BenchTest {
  readonly test: BenchTestName;
  /** Before the warm-up. */
  readonly began: Date;
  readonly tokens: number;
  readonly rates: readonly number[];
  readonly seconds: readonly number[];
  readonly median: number;
  readonly interval: Interval;
  readonly mean: number;
  readonly deviation: number;
}

export async function runBench(session: DecoderSession, options: BenchOptions): Promise<readonly BenchTest[]> {
  const tests: BenchTest[] = [];
  if (options.promptTokens > 0)
    tests.push(await repeat("pp", options.promptTokens, options, (tokens) => promptOnce(session, tokens, options)));
  if (options.generateTokens > 0)
    tests.push(
      await repeat("tg", options.generateTokens, options, (tokens) =>
        generateOnce(session, tokens.length, tokens[0] ?? 0, options),
      ),
    );
  return tests;
}

async function repeat(
  test: BenchTestName,
  tokens: number,
  options: BenchOptions,
  once: (tokens: Int32Array) => Promise<number>,
): Promise<BenchTest> {
  const began = new Date();
  const random = seededRandom(options.seed ?? 1);
  const vocabulary = 1000;
  const seconds: number[] = [];
  for (let i = -options.warmup; i < options.repeats; i++) {
    throwIfCancelled(options.signal);
    const taken = await once(Int32Array.from({ length: tokens }, () => Math.floor(random() * vocabulary)));
    if (i >= 0) seconds.push(taken);
    options.onSample?.({
      test,
      index: i < 0 ? i + options.warmup : i,
      warmup: i < 0,
      seconds: taken,
      rate: tokens / taken,
    });
  }
  const rates = seconds.map((taken) => tokens / taken);
  return {
    test,
    began,
    tokens,
    rates,
    seconds,
    median: median(rates),
    interval: medianInterval(rates),
    mean: mean(rates),
    deviation: deviation(rates),
  };
}

const clockOf = (options: BenchOptions): (() => number) => options.now ?? ((): number => performance.now() / 1000);

/** Seconds for a prompt from an empty cache, with the logits of its last token. */
async function promptOnce(session: DecoderSession, tokens: Int32Array, options: BenchOptions): Promise<number> {
  const now = clockOf(options);
  session.truncate(0);
  const start = now();
  await session.feed(bounded(session, tokens), { sample: GREEDY_DRAW, signal: options.signal });
  return now() - start;
}

/** Seconds for single-token steps from an empty cache. */
async function generateOnce(
  session: DecoderSession,
  count: number,
  first: number,
  options: BenchOptions,
): Promise<number> {
  const now = clockOf(options);
  session.truncate(0);
  const [token = 0] = bounded(session, Int32Array.of(first));
  const start = now();
  let drawn = 0;
  for await (const _ of session.draw(token, { count, sampling: () => GREEDY_DRAW, signal: options.signal })) drawn++;
  const seconds = now() - start;
  invariant(drawn === count, `${count} tokens fit the context`);
  return seconds;
}

const bounded = (session: DecoderSession, tokens: Int32Array): Int32Array =>
  tokens.map((token) => token % session.facts.vocabulary);
