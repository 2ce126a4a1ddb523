/**
 * The benchmark of a decoder: prompt processing and generation, behind any number of tokens that the cache holds already. Tokens
 * are seeded, never sampled text.
 */
import { invariant, WorkbenchError } from "../diagnostics/errors.ts";
import type { DecoderSession } from "./decoderSession.ts";
import { GREEDY_DRAW } from "./generate.ts";
import { inTurn } from "./inTurn.ts";
import type { Cell } from "./inTurn.ts";
import type { Interval } from "./statistics.ts";
import { deviation, mean, median, medianInterval, seededRandom } from "./statistics.ts";

export type BenchTestName = "pp" | "tg";

/** One thing to measure. */
export interface BenchWork {
  readonly test: BenchTestName;
  readonly tokens: number;
  /** Tokens that the cache holds before it. */
  readonly depth: number;
}

/** One repeat. */
export interface BenchReading {
  readonly seconds: number;
  /** Of a prompt: until its first token was drawn. Of generation: when each token was drawn, from the start. */
  readonly drawn: readonly number[];
  /** What it took, where a counter was given. */
  readonly joules?: number;
}

export interface BenchOptions {
  /** 0 leaves the test out. */
  readonly promptTokens: number;
  readonly generateTokens: number;
  readonly depth?: number;
  readonly repeats: number;
  readonly warmup: number;
  readonly seed?: number;
  readonly signal?: AbortSignal;
  readonly now?: () => number;
  readonly onSample?: (sample: BenchSample) => void;
}

export interface BenchSample {
  readonly test: BenchTestName;
  readonly index: number;
  readonly warmup: boolean;
  readonly seconds: number;
  /** Tokens per second. */
  readonly rate: number;
}

export interface BenchTest extends BenchWork {
  /** Before the warm-up. */
  readonly began: Date;
  readonly rates: readonly number[];
  readonly seconds: readonly number[];
  /** Of each repeat (`BenchReading`). */
  readonly drawn: readonly (readonly number[])[];
  readonly median: number;
  readonly interval: Interval;
  readonly mean: number;
  readonly deviation: number;
}

/** Prompt and generation of one session, in turn. */
export async function runBench(session: DecoderSession, options: BenchOptions): Promise<readonly BenchTest[]> {
  const { promptTokens, generateTokens, depth = 0 } = options;
  const works: readonly BenchWork[] = [
    ...(promptTokens > 0 ? [{ test: "pp", tokens: promptTokens, depth } as const] : []),
    ...(generateTokens > 0 ? [{ test: "tg", tokens: generateTokens, depth } as const] : []),
  ];
  const began = new Date();
  const taken = await inTurn(
    works.map((work) => benchCell(session, work, options)),
    {
      ...options,
      onSample({ cell, index, warmup, sample: { seconds } }) {
        const work = works[cell];
        if (work === undefined) return;
        options.onSample?.({ test: work.test, index, warmup, seconds, rate: work.tokens / seconds });
      },
    },
  );
  return works.map((work, at) => benchTest(work, began, taken[at] ?? []));
}

/** How long generation takes against a prompt of as many tokens, where neither has run: for the time left only. */
const GENERATION_WEIGHT = 8;

export interface CellOptions {
  /** Joules since any moment. */
  readonly meter?: (() => number) | undefined;
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly now?: (() => number) | undefined;
}

export function benchCell(session: DecoderSession, work: BenchWork, options: CellOptions): Cell<BenchReading> {
  const { test, tokens, depth } = work;
  if (depth > 0 && session.facts.reader !== undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[bench] depth: got ${depth}, expected 0: an encoder reads the prompt`, {
      hint: "Measure an encoder-decoder without depth.",
    });
  const measure = test === "pp" ? promptOnce : generateOnce;
  return {
    weight: tokens * (test === "tg" ? GENERATION_WEIGHT : 1) + depth,
    once: async (round) => {
      await fillTo(session, depth, options);
      const random = seededRandom((options.seed ?? 1) + round);
      return measure(session, seededTokens(session, tokens, random), options);
    },
  };
}

export function benchTest(work: BenchWork, began: Date, readings: readonly BenchReading[]): BenchTest {
  const seconds = readings.map((reading) => reading.seconds);
  const rates = seconds.map((taken) => work.tokens / taken);
  return {
    ...work,
    began,
    rates,
    seconds,
    drawn: readings.map(({ drawn }) => drawn),
    median: median(rates),
    interval: medianInterval(rates),
    mean: mean(rates),
    deviation: deviation(rates),
  };
}

const DEPTH_SEED = 90_001;
const LARGEST_TOKEN = 1000;

function seededTokens(session: DecoderSession, count: number, random: () => number): Int32Array {
  const { vocabulary } = session.facts;
  return Int32Array.from({ length: count }, () => Math.floor(random() * LARGEST_TOKEN) % vocabulary);
}

/**
 * The session then holds `depth` tokens, always the same, and nothing else. Where its states can forget positions, those that
 * it holds already are kept.
 */
async function fillTo(session: DecoderSession, depth: number, { signal }: CellOptions): Promise<void> {
  if (depth === 0) {
    session.forgetText();
    return;
  }
  const wanted = seededTokens(session, depth, seededRandom(DEPTH_SEED));
  const shared = sharedLength(session.tokens, wanted);
  const kept = session.holds(shared) ? shared : 0;
  session.truncate(kept);
  if (kept < depth) await session.feed(wanted.subarray(kept), { signal, checkpoint: false });
}

function sharedLength(held: readonly number[], wanted: Int32Array): number {
  const most = Math.min(held.length, wanted.length);
  let shared = 0;
  while (shared < most && held[shared] === wanted[shared]) shared++;
  return shared;
}

const clockOf = (options: CellOptions): (() => number) => options.now ?? ((): number => performance.now() / 1000);

/** Seconds for a prompt, with the logits of its last token. */
async function promptOnce(session: DecoderSession, tokens: Int32Array, options: CellOptions): Promise<BenchReading> {
  const now = clockOf(options);
  const energy = options.meter?.() ?? 0;
  const start = now();
  const fed = await session.begin(tokens, options.signal);
  await session.feed(fed, { sample: GREEDY_DRAW, signal: options.signal });
  const seconds = now() - start;
  return { seconds, drawn: [seconds], ...takenSince(energy, options) };
}

/** Seconds for single-token steps. */
async function generateOnce(
  session: DecoderSession,
  { length: count, [0]: first = 0 }: Int32Array,
  options: CellOptions,
): Promise<BenchReading> {
  const now = clockOf(options);
  const [token = 0] = Array.from(await session.begin(Int32Array.of(first), options.signal));
  const energy = options.meter?.() ?? 0;
  const start = now();
  const drawn: number[] = [];
  const stream = session.draw(token, { count, sampling: () => GREEDY_DRAW, signal: options.signal });
  for await (const { ago } of stream) drawn.push(Math.max(drawn.at(-1) ?? 0, now() - start - ago));
  const seconds = now() - start;
  invariant(drawn.length === count, `${count} tokens fit the context`);
  return { seconds, drawn, ...takenSince(energy, options) };
}

const takenSince = (energy: number, { meter }: CellOptions): Pick<BenchReading, "joules"> =>
  meter === undefined ? {} : { joules: Math.max(0, meter() - energy) };
