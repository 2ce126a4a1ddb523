/**
 * The session protocol: what every engine implements, natively or in TypeScript. A session holds the states of a compiled graph
 * and runs it step by step; only what is fetched comes out. Drawing tokens is an extension (`tokens`): an engine without it is a
 * whole engine, because main/runtime/tokenRuns.ts then draws from fetched logits. Types only. They stand in `ir` because it is
 * the one room that a backend sees besides its own.
 */
import type { Bindings } from "./dim.ts";
import type { DType } from "./dtype.ts";
import type { NumberArray } from "./hostBytes.ts";

export interface Disposable {
  /** Idempotent; while a run is on its way the memory stays until it ends. */
  dispose(): void;
}

export interface GraphRun {
  /** Every input, as a typed array of its element type. */
  readonly inputs: Readonly<Record<string, ArrayBufferView>>;
  /** Sizes of symbols; those that are the only unknown of an input follow from its length. */
  readonly symbols?: Bindings;
  /** Outputs to copy out; the others stay in the engine. */
  readonly fetch?: readonly string[];
  readonly profile?: boolean;
}

export interface FetchedTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** One entry per instruction of the plan. */
export interface ProfileColumns {
  /** Seconds since the run began. */
  readonly start: Float64Array;
  readonly seconds: Float32Array;
  /** Bytes of weights, caches and values that the instruction reads and writes. */
  readonly traffic: Float64Array;
}

export interface RunResult {
  readonly seconds: number;
  readonly outputs: Readonly<Record<string, FetchedTensor>>;
  readonly profile?: ProfileColumns;
}

export interface SessionBytes {
  /** Address space: real only where it was touched. */
  readonly reserved: number;
  readonly states: number;
  /** The part of the states that `positions` take. */
  readonly used: number;
}

/** Parameters that a session holds itself; each set counts from the next run on. */
export interface SessionParams {
  /** Numbers, converted to the parameter's type. */
  setParam(name: string, values: ArrayLike<number>): void;
  /** An array of the parameter's own type, taken as it is. */
  setParamTyped(name: string, dtype: DType, values: ArrayBufferView): void;
  /** A copy of its numbers, as it was set or as it starts. */
  getParam(name: string): NumberArray;
}

export interface GraphSession extends Disposable {
  readonly threads: number;
  /** Where the engine takes parameters from memory. */
  readonly params?: SessionParams;
  /** Drawing and scoring inside the engine. */
  readonly tokens?: TokenRunner;
  run(request: GraphRun, signal?: AbortSignal): Promise<RunResult>;
  /** A session of its own with the same states, of caches the first `positions`. */
  fork(positions: number): Promise<GraphSession>;
  save(positions: number): Promise<Uint8Array<ArrayBuffer>>;
  restore(positions: number, state: Uint8Array): Promise<void>;
  /** All states zero. */
  reset(): Promise<void>;
  bytes(positions: number): SessionBytes;
}

/** A session whose engine draws tokens itself. */
export interface TokenSession extends GraphSession {
  readonly tokens: TokenRunner;
  fork(positions: number): Promise<TokenSession>;
}

/** Objects that an engine holds: all zero when everything was given back. */
export interface EngineCounts {
  readonly weights: number;
  readonly plans: number;
  readonly sessions: number;
  readonly jobs: number;
}

// ---------------------------------------------------------------------------------------- tokens

export interface SampleOptions {
  /** 0: the most probable token. */
  readonly temperature: number;
  /** 0: off. */
  readonly topK: number;
  /** 1: off. */
  readonly topP: number;
  /** 0: off. */
  readonly minP: number;
  /** 1: off. */
  readonly repeatPenalty: number;
  /** Tokens that the penalty is for; those that a run follows, or has drawn itself, are added behind them. */
  readonly recent: Int32Array;
  /** That many of them at most, the last ones; without it all. */
  readonly window?: number;
  readonly seed: number;
  /** Counter of the random numbers: the same seed and step draw the same number. */
  readonly step: number;
  /** How many of the most probable tokens to report. */
  readonly alternatives: number;
}

export interface TokenProbability {
  readonly id: number;
  /** Natural logarithm, of the model's own distribution. */
  readonly logprob: number;
}
export interface SampledToken extends TokenProbability {
  readonly top: readonly TokenProbability[];
}

/** Several tokens drawn in one run, each behind the one before it: JavaScript hears of them together, and takes no core in between. */
export interface Series {
  readonly count: number;
  /** An i32 input of one element that takes the token drawn, and one that goes on by one. The others stay as they are. */
  readonly token: string;
  readonly position: string;
  /** Tokens that end it. */
  readonly endings: Int32Array;
}

/** A run that reads logits: it draws a token from the last row, or scores each row, or both. */
export interface TokenRun extends GraphRun {
  /** The output that `sample` and `score` read: f32 [rows, vocabulary]. */
  readonly logits?: string;
  /**
   * An i32 input of one element that takes the last token which the run before this one drew; the repetition penalty counts them too.
   * So the next run can be asked for before that token is known here, and no core waits. See TokenRunner.follows.
   */
  readonly follow?: string;
  /** Draw a token from the last row. */
  readonly sample?: SampleOptions;
  /** With `sample` only. See TokenRunner.series. */
  readonly series?: Series;
  /** For each row of logits the token whose log-probability is wanted; -1 for none. */
  readonly score?: Int32Array;
}

export interface Scores {
  readonly logprobs: Float32Array;
  readonly best: Int32Array;
}

export interface TokenResult extends RunResult {
  readonly sampled?: SampledToken;
  /** Of a series, at least one; the last is one of its endings where there are fewer than it asked for. */
  readonly series?: readonly SampledToken[];
  readonly scored?: Scores;
}

export interface TokenRunner {
  /** Runs are queued, and one may follow the token that the run before it draws. */
  readonly follows: boolean;
  /** A run may draw several tokens, each behind the one before it. */
  readonly series: boolean;
  run(request: TokenRun, signal?: AbortSignal): Promise<TokenResult>;
}
