/**
 * The native CPU engine as portable code sees it: handles for weights, plans and sessions, and runs that never block.
 * main/node/native/addon.ts implements it over the addon; nothing else does.
 */
import type { DType, ElementType } from "../../ir/dtype.ts";

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

export interface RunRequest {
  /** Sizes of symbols for this run. */
  readonly symbols: Readonly<Record<string, number>>;
  /** The bytes of every input, as typed arrays of its element type. */
  readonly inputs: Readonly<Record<string, ArrayBufferView>>;
  /**
   * An i32 input of one element that takes the last token which the run before this one drew; the repetition penalty counts them too.
   * So the next run can be asked for before that token is known here, and no core waits.
   */
  readonly follow?: string;
  /** Outputs to copy out; the others stay native. */
  readonly fetch?: readonly string[];
  /** The output that `sample` and `score` read: f32 [rows, vocabulary]. */
  readonly logits?: string;
  /** Draw a token from the last row. */
  readonly sample?: SampleOptions;
  /** With `sample` only. */
  readonly series?: Series;
  /** For each row of logits the token whose log-probability is wanted; -1 for none. */
  readonly score?: Int32Array;
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
  readonly sampled?: SampledToken;
  /** Of a series, at least one; the last is one of its endings where there are fewer than it asked for. */
  readonly series?: readonly SampledToken[];
  readonly scored?: { readonly logprobs: Float32Array; readonly best: Int32Array };
  readonly profile?: ProfileColumns;
}

export interface Disposable {
  /** Idempotent; while a run is on its way the memory stays until it ends. */
  dispose(): void;
}

export interface WeightsHandle extends Disposable {
  readonly bytes: number;
  /** Fills `target` from a file; throws INPUT_CHANGED when the file is not what it was. */
  read(file: number, offset: number, target: Uint8Array): void;
  check(): void;
  /** Bytes that lie in larger pages by now, which are read faster, and whether what puts them there has come to its end. */
  largePages(): { readonly bytes: number; readonly done: boolean };
}

export interface SessionOptions {
  readonly threads: number;
  /** Sizes of the symbols that states have, fixed for the session. */
  readonly symbols?: Readonly<Record<string, number>>;
}

export interface PlanHandle extends Disposable {
  openSession(options: SessionOptions): SessionHandle;
}

export interface SessionBytes {
  /** Address space: real only where it was touched. */
  readonly reserved: number;
  readonly states: number;
  /** The part of the states that `positions` take. */
  readonly used: number;
}

export interface SessionHandle extends Disposable {
  run(request: RunRequest, signal?: AbortSignal): Promise<RunResult>;
  fork(positions: number): Promise<SessionHandle>;
  save(positions: number): Promise<Uint8Array<ArrayBuffer>>;
  restore(positions: number, state: Uint8Array): Promise<void>;
  /** All states zero. */
  reset(): Promise<void>;
  bytes(positions: number): SessionBytes;
}

export interface EngineCounts {
  readonly weights: number;
  readonly plans: number;
  readonly sessions: number;
  readonly jobs: number;
}

/** How some kernels are run with the instruction set in use. */
export interface KernelNote {
  /** "matmul q4_k q5_k" */
  readonly kernels: string;
  /** "8-bit activations, a factor for every 8; decode vpdpbusd, prompt vpdpwssd" */
  readonly how: string;
}

/** Rows of a weight and how a Core ML package stores them: (scale·(code − offset) + rest)·unfold, or value·unfold. */
export interface StoredRows {
  readonly type: ElementType;
  readonly original: Uint8Array;
  /** Elements: whole blocks, and whole groups where there are codes. */
  readonly count: number;
  /** fp16 and fp32 are values, which have no parts beside them. */
  readonly codes: "fp16" | "fp32" | "int4" | "uint4" | "int8" | "uint8";
  readonly data: Uint8Array;
  /** Elements for each scale, offset and rest. */
  readonly group: number;
  /** With scales of fp16 the product is rounded to fp16. */
  readonly scales: "fp16" | "fp32";
  readonly scale?: Uint8Array;
  readonly offsets: "none" | "uint4" | "fp32";
  readonly offset?: Uint8Array;
  /** fp16. */
  readonly rest?: Uint8Array;
  readonly unfold: number;
}

export interface StoredSums {
  /** Sum of the squares of the rows' own values, and of the differences from them. */
  readonly energy: number;
  readonly error: number;
  /** Elements in neither sum: not finite in the rows, and finite there but not as they are stored. */
  readonly notFinite: number;
  readonly overflowed: number;
}

export interface CpuEngine {
  /** The instruction set in use, and all that this machine can run. */
  readonly isa: string;
  readonly isas: readonly string[];
  readonly kernels: readonly string[];
  readonly notes: readonly KernelNote[];
  counts(): EngineCounts;
  openWeights(paths: readonly string[]): WeightsHandle;
  loadPlan(bytes: Uint8Array, weights: WeightsHandle | null): PlanHandle;
  /** Exact values of packed or half rows; `target` decides how many. */
  dequantize(type: ElementType, bytes: Uint8Array, target: Float32Array): void;
  halve(type: "f16" | "bf16", values: Float32Array, target: Uint16Array): void;
  /**
   * What the stored bytes of rows decode to against the rows' own values, element by element, on a thread that no session uses.
   * Nobody may change the arrays, or give them away, before the promise settles.
   */
  storedError(rows: StoredRows, signal?: AbortSignal): Promise<StoredSums>;
  /** Bytes per second that this many threads read from memory: the roof of a profile. */
  readBandwidth(threads: number, bytes: number, seconds: number, signal?: AbortSignal): Promise<number>;
}
