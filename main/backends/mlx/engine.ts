/**
 * The MLX engine as portable code sees it: plans over mapped weight files, sessions, and runs that never block.
 * main/node/native/mlxAddon.ts implements it over the addon; nothing else does.
 */
import type { MappedFiles } from "../../ir/weightPlace.ts";
import type { Bindings } from "../../ir/dim.ts";
import type {
  Disposable,
  EngineCounts,
  GraphRun,
  RunResult,
  TokenResult,
  TokenRun,
  TokenSession,
} from "../../ir/session.ts";

export const MLX_MODES = ["lazy", "eager", "compiled"] as const;
/** lazy: one evaluation per run · eager: one per call, the failing one is named · compiled: traced once per set of sizes. */
export type MlxMode = (typeof MLX_MODES)[number];

export interface MlxMemory {
  readonly active: number;
  readonly peak: number;
  readonly cache: number;
  readonly limit: number;
}

/** How one weight of the file is held, and how far that is from the exact values of its blocks. */
export interface HeldWeight {
  readonly name: string;
  readonly type: string;
  readonly form: string;
  readonly bytes: number;
  readonly largestError: number;
  /** Root of the mean square error over that of the values. */
  readonly relativeError: number;
}

export interface MlxSessionHandle extends TokenSession {
  fork(positions: number): Promise<MlxSessionHandle>;
  runSlots(request: GraphRun, signal?: AbortSignal): Promise<RunResult>;
  readSlot(name: string, target: Uint8Array): void;
  commit(request: TokenRun, signal?: AbortSignal): Promise<RunResult>;
  sync(signal?: AbortSignal): Promise<TokenResult>;
}

export interface MlxPlanFacts {
  /** Of weights in MLX's memory; 0 before the first run. */
  readonly weightBytes: number;
  /** Traces that were made. */
  readonly traces: number;
  /** Products with weights that took the rows of several sessions at once; those of a trace count when it is made. */
  readonly joinedProducts: number;
}

export interface MlxPlanHandle extends Disposable {
  openSession(options: { readonly mode: MlxMode; readonly symbols: Bindings }): MlxSessionHandle;
  facts(): MlxPlanFacts;
  /** Reads the weights, and says how each is held and how exact that is. */
  weights(signal?: AbortSignal): Promise<readonly HeldWeight[]>;
}

export interface MlxEngine {
  readonly version: string;
  readonly device: "gpu" | "cpu";
  readonly functions: readonly string[];
  counts(): EngineCounts;
  memory(): MlxMemory;
  setMemory(options: {
    readonly limit?: number;
    readonly cacheLimit?: number;
    readonly clearCache?: boolean;
    readonly resetPeak?: boolean;
  }): void;
  /** Whether compiled traces join element-wise calls into kernels; on a CPU each kernel costs a run of a C++ compiler. */
  setFusion(on: boolean): void;
  openWeights(files: MappedFiles): Disposable;
  loadPlan(bytes: Uint8Array, weights: Disposable | null): MlxPlanHandle;
}
