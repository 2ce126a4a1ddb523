/**
 * The native CPU engine as portable code sees it: handles for weights, plans and sessions, and runs that never block.
 * main/node/native/addon.ts implements it over the addon; nothing else does.
 */
import type { Bindings } from "../../ir/dim.ts";
import type { ElementType } from "../../ir/dtype.ts";
import type { MeasuredRows, RowsToMeasure } from "../../ir/measure.ts";
import type { RepackedRows, RowsToRepack } from "../../ir/repack.ts";
import type { MappedFiles } from "../../ir/weightPlace.ts";
import type { Disposable, EngineCounts, TokenSession } from "../../ir/session.ts";

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
  readonly symbols?: Bindings;
}

export interface PlanHandle extends Disposable {
  openSession(options: SessionOptions): TokenSession;
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
  /** Maps the files; throws INPUT_CHANGED where one is not the file that its identity tells. */
  openWeights(files: MappedFiles): WeightsHandle;
  loadPlan(bytes: Uint8Array, weights: WeightsHandle | null): PlanHandle;
  /** Exact values of packed or half rows; `target` decides how many. */
  dequantize(type: ElementType, bytes: Uint8Array, target: Float32Array): void;
  halve(type: "f16" | "bf16", values: Float32Array, target: Uint16Array): void;
  /**
   * What the stored bytes of rows decode to against the rows' own values, element by element, on a thread that no session uses.
   * The arrays are copied: they may be changed or given away at once.
   */
  storedError(rows: StoredRows, signal?: AbortSignal): Promise<StoredSums>;
  /** Rows in another type, and what that lost. The arrays are copied. Throws UNSUPPORTED_TENSOR_TYPE for a type that nothing packs. */
  repack(rows: RowsToRepack, threads: number, signal?: AbortSignal): Promise<RepackedRows>;
  /** Statistics of rows of f32, f16, bf16 or a packed type. The arrays are copied. */
  measure(rows: RowsToMeasure, threads: number, signal?: AbortSignal): Promise<MeasuredRows>;
  /** Bytes per second that this many threads read from memory: the peak bandwidth of a profile. */
  readBandwidth(threads: number, bytes: number, seconds: number, signal?: AbortSignal): Promise<number>;
}
