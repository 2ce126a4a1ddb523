/**
 * The session protocol: what every engine implements, natively or in TypeScript. A session holds
 * the states of a compiled graph and runs it step by step; only what is fetched comes out. Drawing
 * tokens is an extension (`tokens`): an engine without it is a whole engine, because
 * main/runtime/tokenRuns.ts then draws from fetched logits. Types only. They are in `ir` because a
 * backend sees no other folder besides its own.
 */
import type { Bindings } from "./dim.ts";
import type { DType } from "./dtype.ts";
import type { NumberArray } from "./hostBytes.ts";

export interface Disposable {
  /** Idempotent. Memory is freed after the current run ends. */
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
  /** Seconds that each thread worked, thread after thread; absent where the engine has no threads of its own. */
  readonly busy?: Float32Array;
}

export interface RunResult {
  readonly seconds: number;
  readonly outputs: Readonly<Record<string, FetchedTensor>>;
  readonly profile?: ProfileColumns;
}

export interface SessionBytes {
  /** Reserved address space; only touched pages use memory. */
  readonly reserved: number;
  readonly states: number;
  /** The part of the states that `positions` take. */
  readonly used: number;
}

/** Parameters that a session holds itself. A new value takes effect with the next run. */
export interface SessionParams {
  /** Numbers, converted to the parameter's type. */
  setParam(name: string, values: ArrayLike<number>): void;
  /** An array of the parameter's own type, taken as it is. */
  setParamTyped(name: string, dtype: DType, values: ArrayBufferView): void;
  /** A copy of its numbers, as it was set or as it starts. */
  getParam(name: string): NumberArray;
}

/** Copies of the states that are no caches. Those keep what stands before a position whatever is written behind it. */
export interface Checkpoints {
  take(): Promise<Uint8Array<ArrayBuffer>>;
  putBack(states: Uint8Array): Promise<void>;
}

export interface GraphSession extends Disposable {
  readonly threads: number;
  /** Absent where only all states can be copied, by `save` and `restore`. */
  readonly checkpoints?: Checkpoints;
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

/** Objects that an engine holds: all zero when everything is freed. */
export interface EngineCounts {
  readonly weights: number;
  readonly plans: number;
  readonly sessions: number;
  readonly jobs: number;
}

// ---------------------------------------------------------------------------------------- tokens

/** The steps of the chain that not every engine draws itself; main/runtime/sampling/chain.ts has all of them, in order. */
export type ChainStep =
  "logitBias" | "constraint" | "frequencyPenalty" | "presencePenalty" | "dry" | "typicalP" | "xtc" | "mirostat";

export interface LogitBias {
  readonly id: number;
  /** Added to the token's logit; -Infinity bans it. */
  readonly bias: number;
}

/** Exclude top choices: with this probability, all tokens above the threshold but the least probable of them go. */
export interface Xtc {
  readonly probability: number;
  readonly threshold: number;
}

/** Don't repeat yourself: what would go on with a repetition of `allowedLength` tokens or more loses multiplier · base^excess. */
export interface Dry {
  readonly multiplier: number;
  readonly base: number;
  readonly allowedLength: number;
  /** Where repetitions are looked for, oldest first. */
  readonly tokens: Int32Array;
  /** A repetition ends at these: by its first token, the tokens that must follow it (none for a single token). */
  readonly breakers: ReadonlyMap<number, readonly (readonly number[])[]>;
}

/** Keeps the surprise of the text near `tau` bits. It takes the place of top-k, typical, top-p, min-p and XTC. */
export interface Mirostat {
  readonly version: 1 | 2;
  readonly tau: number;
  readonly eta: number;
  /** Moves with every draw. */
  readonly state: { mu: number };
}

/** What the text may go on with, after the tokens that were drawn. */
export interface TokenConstraint {
  /** One bit for each token of the vocabulary, lowest first: may it come next? */
  allowed(): Uint32Array;
}

/** What every engine draws: repetition penalty, temperature, top-k, top-p, min-p. The rest is optional, and absent where it is off. */
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
  /** Tokens to penalise; tokens that a run follows or draws itself are appended. */
  readonly recent: Int32Array;
  /** Only the last of these; all of them when absent. */
  readonly window?: number;
  readonly seed: number;
  /** Counter of the random numbers: the same seed and step draw the same number. */
  readonly step: number;
  /** How many of the most probable tokens to report. */
  readonly alternatives: number;
  readonly logitBias?: readonly LogitBias[];
  readonly constraint?: TokenConstraint;
  /** Taken from the logit for each time that the token is among `recent`. */
  readonly frequencyPenalty?: number;
  /** Taken from the logit once if the token is among `recent`. */
  readonly presencePenalty?: number;
  readonly dry?: Dry;
  /** Keeps tokens whose surprise is nearest to the expected one, up to this share of the probability. */
  readonly typicalP?: number;
  readonly xtc?: Xtc;
  readonly mirostat?: Mirostat;
}

export interface TokenProbability {
  readonly id: number;
  /** Natural logarithm, of the model's own distribution. */
  readonly logprob: number;
}
export interface SampledToken extends TokenProbability {
  readonly top: readonly TokenProbability[];
}

/** Several tokens drawn in one run, one after the other. JavaScript gets them together and uses no core in between. */
export interface Series {
  readonly count: number;
  /** The i32[] input that takes the drawn token, and the one that counts up. Other inputs keep their values. */
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
   * The i32[] input that takes the last token of the run before this one; the repetition penalty
   * counts it too. So a run can be queued before that token is known here, and no core waits. See
   * TokenRunner.follows.
   */
  readonly follow?: string;
  /** Draw a token from the last row. */
  readonly sample?: SampleOptions;
  /** With `sample` only. See TokenRunner.series. */
  readonly series?: Series;
  /** For each row of logits: the token to score, -1 for none. */
  readonly score?: Int32Array;
}

export interface Scores {
  readonly logprobs: Float32Array;
  readonly best: Int32Array;
}

export interface TokenResult extends RunResult {
  /** Sessions in the largest of its steps, where the engine joins the steps of sessions that share a plan. */
  readonly together?: number;
  readonly sampled?: SampledToken;
  /** Of a series: at least one. If there are fewer than asked for, the last is one of its endings. */
  readonly series?: readonly SampledToken[];
  readonly scored?: Scores;
}

export interface TokenRunner {
  /** Runs are queued, and one may follow the token that the run before it draws. */
  readonly follows: boolean;
  /** A run may draw several tokens, each behind the one before it. */
  readonly series: boolean;
  /** The optional steps of a draw that it takes itself. A draw with another one goes through main/runtime/tokenRuns.ts. */
  readonly steps: readonly ChainStep[];
  run(request: TokenRun, signal?: AbortSignal): Promise<TokenResult>;
}
