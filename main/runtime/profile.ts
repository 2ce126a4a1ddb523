/**
 * A profile of real runs: one slice per instruction and step in columns, and tables by kind of instruction with achieved
 * bandwidth and share. Fused time stays on the fused instruction; its slice names all nodes that it executes.
 */
import type { ProfileColumns, RunResult } from "../backends/cpu/engine.ts";
import { invariant } from "../diagnostics/errors.ts";
import type { DecoderModel } from "./decoderModel.ts";
import type { DecoderSession } from "./decoderSession.ts";
import type { PlanStep } from "./device.ts";
import { GREEDY_DRAW } from "./generate.ts";
import { seededRandom } from "./statistics.ts";

export interface ProfileOptions {
  readonly promptTokens: number;
  readonly generateTokens: number;
  readonly seed?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number, total: number) => void;
  /** The runs without a clock are over: from here on everything counts, and `start` of the runs counts from here. */
  readonly onBegin?: () => void;
}

/** What an instruction is called: the ops of its nodes, and where in the model it stands. */
export interface StepTitle {
  readonly op: string;
  readonly label: string;
}

export interface ProfileRow {
  readonly op: string;
  readonly count: number;
  readonly seconds: number;
  readonly share: number;
  readonly bytes: number;
  /** Bytes per second. */
  readonly bandwidth: number;
}

export interface ProfilePhase {
  readonly seconds: number;
  readonly tokens: number;
  readonly rows: readonly ProfileRow[];
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
  readonly prefill: ProfilePhase;
  readonly decode: ProfilePhase;
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
  model: DecoderModel,
  session: DecoderSession,
  options: ProfileOptions,
): Promise<ProfileReport> {
  const runs: RecordedRun[] = [];
  await recordRuns(session, options, (span, { profile }) => {
    invariant(profile, "a profiled run has columns");
    runs.push({ ...span, columns: profile });
  });
  return report(model.compiled.steps, runs);
}

/** Reads a prompt of random tokens, then writes tokens one by one; `onRun` is told of every run on the way. */
export async function recordRuns(
  session: DecoderSession,
  options: ProfileOptions,
  onRun: (span: RunSpan, result: RunResult) => void,
): Promise<void> {
  const random = seededRandom(options.seed ?? 1);
  const prompt = Int32Array.from({ length: options.promptTokens }, () =>
    Math.floor(random() * Math.min(1000, session.facts.vocabulary)),
  );
  let began = 0;
  const record =
    (decode: boolean) =>
    (tokens: number, result: RunResult): void => {
      const start = performance.now() / 1000 - began - result.seconds;
      onRun({ start, seconds: result.seconds, tokens, decode }, result);
    };
  const sample = GREEDY_DRAW;
  const total = options.promptTokens + options.generateTokens;
  session.truncate(0);
  // Once without a clock: the first touch of weights and caches is not what a profile is about.
  await session.feed(prompt.subarray(0, Math.min(16, prompt.length)), { sample, signal: options.signal });
  session.truncate(0);
  began = performance.now() / 1000;
  options.onBegin?.();
  let drawn = await session.feed(prompt, { sample, signal: options.signal, onRun: record(false) });
  options.onProgress?.(options.promptTokens, total);
  for (let i = 0; i < options.generateTokens && drawn !== undefined; i++) {
    drawn = await session.feed([drawn.id], { sample, signal: options.signal, onRun: record(true) });
    options.onProgress?.(options.promptTokens + i + 1, total);
  }
}

function report(plan: readonly PlanStep[], runs: readonly RecordedRun[]): ProfileReport {
  const titles = plan.map(({ op, label }) => ({ op, label }));
  const count = runs.length * plan.length;
  const slices = {
    run: new Uint32Array(count),
    instruction: new Uint32Array(count),
    start: new Float64Array(count),
    seconds: new Float32Array(count),
    bytes: new Float64Array(count),
  };
  runs.forEach((run, r) => {
    plan.forEach((_, i) => {
      const at = r * plan.length + i;
      slices.run[at] = r;
      slices.instruction[at] = i;
      slices.start[at] = run.start + (run.columns.start[i] ?? 0);
      slices.seconds[at] = run.columns.seconds[i] ?? 0;
      slices.bytes[at] = run.columns.traffic[i] ?? 0;
    });
  });
  return {
    titles,
    plan,
    runs: runs.map(({ start, seconds, tokens, decode }) => ({ start, seconds, tokens, decode })),
    slices,
    prefill: phase(
      titles,
      runs.filter((run) => !run.decode),
    ),
    decode: phase(
      titles,
      runs.filter((run) => run.decode),
    ),
  };
}

function phase(titles: readonly StepTitle[], runs: readonly RecordedRun[]): ProfilePhase {
  const rows = new Map<string, { count: number; seconds: number; bytes: number }>();
  let total = 0;
  for (const run of runs)
    titles.forEach(({ op }, i) => {
      const row = rows.get(op) ?? { count: 0, seconds: 0, bytes: 0 };
      row.count++;
      row.seconds += run.columns.seconds[i] ?? 0;
      row.bytes += run.columns.traffic[i] ?? 0;
      total += run.columns.seconds[i] ?? 0;
      rows.set(op, row);
    });
  return {
    seconds: runs.reduce((sum, run) => sum + run.seconds, 0),
    tokens: runs.reduce((sum, run) => sum + run.tokens, 0),
    rows: [...rows]
      .map(([op, row]) => ({
        op,
        ...row,
        share: total === 0 ? 0 : row.seconds / total,
        bandwidth: row.seconds === 0 ? 0 : row.bytes / row.seconds,
      }))
      .sort((a, b) => b.seconds - a.seconds),
  };
}
