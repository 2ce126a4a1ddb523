/**
 * A profile of real runs: one slice per instruction and step in columns, what each thread worked, and the memory after each step.
 * Fused time stays on the fused instruction; its slice names all nodes that it executes. Sums are made where it is shown
 * (main/contract/recordings).
 */
import type { ProfileColumns, RunResult } from "../ir/session.ts";
import { invariant } from "../diagnostics/errors.ts";
import type { DecoderSession } from "./decoderSession.ts";
import type { PlanStep } from "./device.ts";
import { GREEDY_DRAW } from "./generate.ts";
import { seededRandom } from "./statistics.ts";

export interface ProfileOptions {
  readonly promptTokens: number;
  readonly generateTokens: number;
  readonly seed?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (fraction: number) => void;
  /** The runs without a clock are over: from here on everything counts, and `start` of the runs counts from here. */
  readonly onBegin?: () => void;
  /** Bytes of the process, looked at before the first run and after each. */
  readonly processBytes?: () => number;
}

/** What an instruction is called: the ops of its nodes, and where in the model it stands. */
export interface StepTitle {
  readonly op: string;
  readonly label: string;
}

/** Of each look: seconds since the first run, the whole process, and what the session's states hold. */
export interface MemoryLooks {
  readonly time: Float64Array;
  readonly resident: Float64Array;
  readonly states: Float64Array;
}

export interface ProfileReport {
  /** Per instruction of the plan. */
  readonly titles: readonly StepTitle[];
  readonly plan: readonly PlanStep[];
  readonly runs: readonly RunSpan[];
  /** One entry per instruction and run, in order. */
  readonly slices: {
    readonly run: Uint32Array;
    readonly instruction: Uint32Array;
    readonly start: Float64Array;
    readonly seconds: Float32Array;
    readonly bytes: Float64Array;
  };
  /** Seconds that each thread worked on each slice, thread after thread; none where the engine does not tell. */
  readonly threads: { readonly count: number; readonly busy: Float32Array };
  readonly memory: MemoryLooks;
}

/** One run of a profile: seconds since the first, how long, how many tokens. */
export interface RunSpan {
  readonly start: number;
  readonly seconds: number;
  readonly tokens: number;
  readonly decode: boolean;
}

interface RecordedRun extends RunSpan {
  readonly columns: ProfileColumns;
}

export async function profileDecoder(
  plan: readonly PlanStep[],
  session: DecoderSession,
  options: ProfileOptions,
): Promise<ProfileReport> {
  const runs: RecordedRun[] = [];
  const memory = await recordRuns(session, options, (span, { profile }) => {
    invariant(profile, "a profiled run has columns");
    runs.push({ ...span, columns: profile });
  });
  return report(plan, runs, memory);
}

/** Reads a prompt of random tokens, then writes tokens one by one; `onRun` is told of every run on the way. */
export async function recordRuns(
  session: DecoderSession,
  options: ProfileOptions,
  onRun: (span: RunSpan, result: RunResult) => void,
): Promise<MemoryLooks> {
  const random = seededRandom(options.seed ?? 1);
  const prompt = Int32Array.from({ length: options.promptTokens }, () =>
    Math.floor(random() * Math.min(1000, session.facts.vocabulary)),
  );
  let began = 0;
  const looks: { readonly time: number; readonly resident: number; readonly states: number }[] = [];
  const look = (): void => {
    if (options.processBytes === undefined) return;
    const time = performance.now() / 1000 - began;
    looks.push({ time, resident: options.processBytes(), states: session.cacheBytes });
  };
  const record =
    (decode: boolean) =>
    (tokens: number, result: RunResult): void => {
      const start = performance.now() / 1000 - began - result.seconds;
      onRun({ start, seconds: result.seconds, tokens, decode }, result);
      look();
    };
  const sample = GREEDY_DRAW;
  const total = options.promptTokens + options.generateTokens;
  session.truncate(0);
  // Once without a clock: the first touch of weights and caches is not what a profile is about.
  const { signal } = options;
  await session.feed(await session.begin(prompt.subarray(0, Math.min(16, prompt.length)), signal), { sample, signal });
  session.truncate(0);
  const fed = await session.begin(prompt, signal);
  began = performance.now() / 1000;
  options.onBegin?.();
  look();
  let drawn = await session.feed(fed, { sample, signal, onRun: record(false) });
  options.onProgress?.(options.promptTokens / total);
  for (let i = 0; i < options.generateTokens && drawn !== undefined; i++) {
    drawn = await session.feed([drawn.id], { sample, signal, onRun: record(true) });
    options.onProgress?.((options.promptTokens + i + 1) / total);
  }
  const column = (of: keyof MemoryLooks): Float64Array => Float64Array.from(looks, (each) => each[of]);
  return { time: column("time"), resident: column("resident"), states: column("states") };
}

function report(plan: readonly PlanStep[], runs: readonly RecordedRun[], memory: MemoryLooks): ProfileReport {
  const count = runs.length * plan.length;
  const slices = {
    run: new Uint32Array(count),
    instruction: new Uint32Array(count),
    start: new Float64Array(count),
    seconds: new Float32Array(count),
    bytes: new Float64Array(count),
  };
  const threads = Math.min(...runs.map(({ columns }) => (columns.busy?.length ?? 0) / Math.max(1, plan.length)));
  const busy = new Float32Array(threads * count);
  runs.forEach((run, r) => {
    // Instructions that did not run have no time; those of a loop stand where they ran first.
    const order = [...plan.keys()].sort((a, b) => (run.columns.start[a] ?? 0) - (run.columns.start[b] ?? 0));
    order.forEach((i, place) => {
      const at = r * plan.length + place;
      slices.run[at] = r;
      slices.instruction[at] = i;
      slices.start[at] = run.start + (run.columns.start[i] ?? 0);
      slices.seconds[at] = run.columns.seconds[i] ?? 0;
      slices.bytes[at] = run.columns.traffic[i] ?? 0;
      for (let thread = 0; thread < threads; thread++)
        busy[thread * count + at] = run.columns.busy?.[thread * plan.length + i] ?? 0;
    });
  });
  return {
    titles: plan.map(({ op, label }) => ({ op, label })),
    plan,
    runs: runs.map(({ start, seconds, tokens, decode }) => ({ start, seconds, tokens, decode })),
    slices,
    threads: { count: threads, busy },
    memory,
  };
}
