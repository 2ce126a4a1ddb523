/**
 * A device as the workbench knows it: what it is called, whether it is here, what it can do, and how graphs and decoders come to
 * run on it. One file gives one provider, and a list (registry.ts) holds them. Its users ask for a capability and never
 * for an id. `Source` is what the caller has of an open model besides its file, which a device may need to make a package.
 */
import type { ErrorCode } from "../../diagnostics/codes.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { ElementType } from "../../ir/dtype.ts";
import type { Graph } from "../../ir/graph.ts";
import type { HeldBytes } from "../../ir/heldBytes.ts";
import type { PrecisionPolicy } from "../../ir/precision.ts";
import type { WeightFiles } from "../../ir/weightPlace.ts";
import { compileNow } from "../../compiler/compile.ts";
import type { CompileObserver } from "../../compiler/compile.ts";
import type { DispatchPolicy } from "../../compiler/support.ts";
import type { Backend } from "../../ops/defineOp.ts";
import type { CacheType } from "../../models/blocks.ts";
import type { Pooling } from "../../models/family.ts";
import type { DecoderModel } from "../decoderModel.ts";
import type { DecoderSession } from "../decoderSession.ts";
import type { Device, PlanStep } from "../device.ts";
import type { EmbedderModel } from "../embedderModel.ts";

export interface DeviceCapabilities {
  /** Runs decoders: reads a prompt and writes tokens. */
  readonly tokens: true | string;
  /** The time of a run is the device's own, so it may be measured. */
  readonly measure: true | string;
  /** Tells what each operation took. */
  readonly profile: true | string;
  /** A session goes back to an earlier position, forks, saves and restores. */
  readonly rewind: true | string;
  /** Runs gradients and keeps variables. */
  readonly train: true | string;
  /** Tells where the system plans to run each operation. */
  readonly plan: true | string;
  /** Compiles any graph, by `device`. */
  readonly graphs: true | string;
  /** Runs the parts of a graph that is cut between it and the host. */
  readonly segments: true | string;
}
/** Of each: true, or in a sentence why not. */
export type Capability = keyof DeviceCapabilities;

/** Why Core ML does not `train`. */
export const GRADIENTS_ONLY = "Core ML gives gradients only: weights go with every step, and the host updates them.";

export type Probe =
  | { readonly ok: true; readonly sentence: string }
  | { readonly ok: false; readonly code: ErrorCode; readonly sentence: string; readonly hint: string | null };

/** What a measurement says of the device that it was made on. */
export interface DeviceFacts {
  readonly truth: "measured" | "simulated";
  /** As llama-bench would name it. */
  readonly backend: string;
  /** "avx2", "MLX 0.32.4, Metal". */
  readonly kernels: string;
  /** Weights are read where the file is mapped. */
  readonly mapped: boolean;
  /** Where instructions run, for the lane of a profile. */
  readonly lane: { readonly title: string; readonly device: "cpu" | "gpu" };
  /** What a reader of a profile must know; empty when there is nothing. */
  readonly profileNote: string;
}

/** What is going on until a decoder is there, where that takes minutes. */
export interface DevicePhase {
  readonly name: string;
  readonly sentence: string;
  readonly elapsedSeconds: number;
  /** Where it is known how far the work is. */
  readonly fraction?: number | null;
}

export interface DecoderRequest<Source> {
  readonly source: Source;
  readonly file: GgufFile;
  readonly paths: readonly string[];
  /** Element type of keys and values; the device's own without it. */
  readonly cacheType?: CacheType;
  readonly chunk?: number;
  /** Sessions tell what the routers of a mixture pick; devices with the capability `graphs` do. */
  readonly countsExperts?: boolean;
  /** In which floats it computes; f32 without it. Devices that compile the graph for a backend of their own can: see `backend`. */
  readonly precision?: PrecisionPolicy;
  readonly threads: number;
  /** Positions that are wanted. */
  readonly context: number;
  readonly signal: AbortSignal;
  readonly onPhase: (phase: DevicePhase) => void;
}

export interface EmbedderRequest<Source> extends Pick<
  DecoderRequest<Source>,
  "source" | "file" | "paths" | "threads" | "signal" | "onPhase"
> {
  readonly pooling: Pooling;
}

/** Refuses packed keys and values where the device does not attend over them. */
export function requireCacheType({ title, kept }: Pick<DeviceProvider, "title" | "kept">, type?: CacheType): void {
  if (type === undefined || type === "f16" || type === "f32" || kept?.packs === true) return;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[cache] type of keys and values: got ${type} on ${title}, expected f16 or f32`,
    {
      hint: "Only the CPU engine attends over packed keys and values in place: choose cpu, or another type.",
    },
  );
}

/** A decoder on a device; sessions in tokens are opened over it. */
export interface DeviceDecoder {
  readonly cacheType: CacheType;
  /** Positions that a session can have. */
  readonly context: number;
  /** Of its plan, for profiles; none where the device has no list of instructions. */
  readonly steps: readonly PlanStep[];
  open(settings: { readonly context: number; readonly threads: number }): DecoderSession;
  dispose(): void | Promise<void>;
}

/** Figures of the device's own memory. */
export interface MemoryFigure {
  readonly id: string;
  readonly title: string;
  readonly bytes: number;
  readonly source: string;
}

/** One line of the doctor. */
export interface DeviceCheck {
  readonly id: string;
  readonly title: string;
  readonly state: "ok" | "info" | "warning" | "missing";
  readonly sentence: string;
  readonly hint: string | null;
  readonly details?: string[];
}

export interface DeviceReads {
  /** The unit that reads weights and multiplies. */
  readonly unit: "cpu" | "gpu";
  readonly held: HeldBytes;
  /** "as the file packs them". */
  readonly form: string;
}

export interface DeviceProvider<Source = unknown, Decoder extends DeviceDecoder = DeviceDecoder> {
  /** Lower case letters, digits and hyphens. */
  readonly id: string;
  readonly title: string;
  /** The runtime that it is, or that it simulates; absent where it is one of its own. */
  readonly backend?: Exclude<Backend, "webgpu">;
  readonly capabilities: DeviceCapabilities;
  /** Element types of weights that it runs, as a file has them. */
  readonly weightTypes: readonly ElementType[];
  /** What forecasts need to know of it; absent where nothing is forecast. */
  readonly reads?: DeviceReads;
  /** It only stands in for another device and is in no list. */
  readonly hidden?: boolean;
  /**
   * Decoders stay with their model for the next job, and keep keys and values in this type unless told otherwise; `rings`:
   * of layers that see only the newest positions, no others.
   */
  readonly kept?: { readonly cacheType: CacheType; readonly packs?: true; readonly rings?: boolean };
  /** What does the same work where this device is missing: an id, to be offered. */
  readonly instead?: string;
  /** Whether it is here; what it is, or what is missing. Asked often, so it remembers. */
  probe(): Probe;
  /** The id of the device that runs in its place now, of itself. */
  standIn?(): string | undefined;
  /** Why a model of so many parameters does not run here. */
  refuses?(parameters: number): WorkbenchError | undefined;
  /** What to say beforehand of a run: it is slow, and how slow. */
  notice?(parameters: number): {
    readonly sentence: string;
    readonly secondsPerToken: { readonly low: number; readonly high: number };
  };
  facts(threads: number): DeviceFacts;
  /** With the capability `graphs`. Throws what `probe` tells where the device is missing. */
  device?(options: { readonly threads: number; readonly weights?: WeightFiles }): Device;
  openDecoder(request: DecoderRequest<Source>): Promise<Decoder>;
  /** Makes vectors of whole texts; absent where it does not. */
  openEmbedder?(request: EmbedderRequest<Source>): Promise<EmbedderModel>;
  /** In bytes, where it has a memory of its own. */
  memory?(): readonly MemoryFigure[];
  checks?(): Promise<readonly DeviceCheck[]>;
}

/** A decoder that was compiled from the graph, for its device. */
export const compiledDecoder = (model: DecoderModel, cacheType: CacheType): DeviceDecoder => ({
  cacheType,
  context: model.architecture.context,
  steps: model.compiled.steps,
  open: (settings) => model.open(settings),
  dispose: () => model.dispose(),
});

/** How a device's decoders are compiled. */
export interface DecoderCompile {
  readonly dispatch: DispatchPolicy;
  readonly watch?: CompileObserver;
  /** False where layers that see only the newest positions keep the others too. */
  readonly rings?: boolean;
}

/** Passes and legalisation of a model's graph for a backend. */
export const prepareDecoder =
  (
    backend: Backend,
    { dispatch, watch }: DecoderCompile,
    what: "decoder" | "embedder" = "decoder",
    precision: PrecisionPolicy = "f32",
  ) =>
  (graph: Graph): Graph =>
    compileNow(graph, { ...watch, backend, dispatch, what, precision }).graph;
