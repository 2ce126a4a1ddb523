/**
 * A profile of real runs: one slice per instruction and step in columns, and tables by kind of instruction (phaseRows.ts) with
 * achieved bandwidth and share. Fused time stays on the fused instruction; its slice names all nodes that it executes.
 */
import type { ProfileColumns, RunResult } from "../ir/session.ts";
import { invariant } from "../diagnostics/errors.ts";
import type { DecoderSession } from "./decoderSession.ts";
import type { PlanStep } from "./device.ts";
import { GREEDY_DRAW } from "./generate.ts";
import type { TimedPart } from "./phaseRows.ts";
import { phaseRows } from "./phaseRows.ts";
import { median, seededRandom } from "./statistics.ts";

export interface ProfileOptions {
  readonly promptTokens: number;
  readonly generateTokens: number;
  readonly seed?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (fraction: number) => void;
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
  /** Of one token: of a prompt its share of the whole, of writing the median. */
  readonly seconds: number;
  readonly tokens: number;
  /** What `seconds` are. */
  readonly basis: string;
  /** Of a prompt: totals. Of writing: of one typical token. */
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
  plan: readonly PlanStep[],
  session: DecoderSession,
  options: ProfileOptions,
): Promise<ProfileReport> {
  const runs: RecordedRun[] = [];
  await recordRuns(session, options, (span, { profile }) => {
    invariant(profile, "a profiled run has columns");
    runs.push({ ...span, columns: profile });
  });
  return report(plan, runs);
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
  const { signal } = options;
  await session.feed(await session.begin(prompt.subarray(0, Math.min(16, prompt.length)), signal), { sample, signal });
  session.truncate(0);
  const fed = await session.begin(prompt, signal);
  began = performance.now() / 1000;
  options.onBegin?.();
  let drawn = await session.feed(fed, { sample, signal, onRun: record(false) });
  options.onProgress?.(options.promptTokens / total);
  for (let i = 0; i < options.generateTokens && drawn !== undefined; i++) {
    drawn = await session.feed([drawn.id], { sample, signal, onRun: record(true) });
    options.onProgress?.((options.promptTokens + i + 1) / total);
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
    prefill: phase(titles, runs, false),
    decode: phase(titles, runs, true),
  };
}

/** One after the other: a long recording has millions. */
function* partsOf(titles: readonly StepTitle[], runs: readonly RecordedRun[]): Generator<TimedPart<string>> {
  for (const [run, { columns }] of runs.entries())
    for (const [i, { op }] of titles.entries())
      yield { kind: op, run, seconds: columns.seconds[i] ?? 0, bytes: columns.traffic[i] ?? 0 };
}

function phase(titles: readonly StepTitle[], runs: readonly RecordedRun[], decode: boolean): ProfilePhase {
  const own = runs.filter((run) => run.decode === decode);
  const rows = phaseRows(partsOf(titles, own), (op) => op, decode ? [...own.keys()] : undefined);
  return {
    ...phaseTime(own, decode),
    rows: rows.map(({ kind, ...row }) => ({
      op: kind,
      ...row,
      bandwidth: row.seconds === 0 ? 0 : row.bytes / row.seconds,
    })),
  };
}

/** What one token takes: of a prompt its share of the whole, of writing the median. */
export function phaseTime(
  own: readonly Pick<RunSpan, "seconds" | "tokens">[],
  decode: boolean,
): Omit<ProfilePhase, "rows"> {
  const tokens = own.reduce((sum, run) => sum + run.tokens, 0);
  const times = own.map((run) => run.seconds);
  const seconds = decode ? median(times) : times.reduce((sum, time) => sum + time, 0) / tokens;
  const basis = decode ? `a token, median of ${tokens} written tokens` : `a token, over ${tokens} tokens of the prompt`;
  return { seconds: tokens === 0 ? 0 : seconds, tokens, basis };
}
