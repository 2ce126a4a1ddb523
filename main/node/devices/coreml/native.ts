/**
 * The Core ML addon: the types of its exports, how it is found and loaded, and promises with cancel
 * over it. It exists on Macs. RLX_COREML_ADDON names another module with the same interface.
 */
import { existsSync } from "node:fs";
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { Started } from "../../native/nativeHandles.ts";
import { addonPlaces, guarded, nativeHandles, requireAddon } from "../../native/nativeHandles.ts";

/** The number in native/src/coreml/binding/addon.cpp. */
const ABI = 4;

export type BridgeTruth = "measured" | "simulated";
export type CoremlUnit = "cpu" | "cpu-gpu" | "all" | "cpu-ane";
export type NumberArray =
  Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Int8Array<ArrayBuffer>;

/** Halves travel as Uint16Array. A shape that is left out follows from the feature and the number of elements. */
export interface CoremlInput {
  readonly name: string;
  readonly shape?: readonly number[];
  readonly data: Float32Array | Uint16Array | Int32Array | Int8Array;
}
export interface CoremlOutput {
  readonly name: string;
  readonly type: "f16" | "f32" | "i32" | "i8";
  readonly shape: readonly number[];
  readonly data: NumberArray;
}
export interface CoremlFeature {
  readonly name: string;
  readonly type: "f16" | "f32" | "f64" | "i32" | "i8" | "none";
  readonly shape: readonly number[];
  readonly optional: boolean;
  readonly shapes: readonly (readonly number[])[];
  /** Lowest and highest size per dim. A highest below 0 means no limit. */
  readonly ranges: readonly (readonly [number, number])[];
}
export interface CoremlLoadOptions {
  readonly units: CoremlUnit;
  /** One of several functions; the model's default otherwise. */
  readonly function?: string;
  readonly title?: string;
  /** Optimise again for each shape instead of switching fast between them. */
  readonly infrequentReshape?: boolean;
  readonly fastPrediction?: boolean;
  /** `path` is a package, loaded without compiling it to a file (macOS 15). */
  readonly inMemory?: boolean;
}
export interface CoremlPrediction {
  readonly outputs: readonly CoremlOutput[];
  readonly seconds: number;
  readonly systemSeconds: number;
  readonly backingsUsed: number;
}
export interface CoremlPlannedOp {
  readonly function: string;
  readonly op: string;
  /** Name of its first output. */
  readonly output: string;
  /** Empty where the system says nothing (constants, or a structure only). */
  readonly preferred: "" | "cpu" | "gpu" | "ane";
  readonly supported: readonly ("cpu" | "gpu" | "ane")[];
  /** Share of the whole; below 0 if unknown. */
  readonly cost: number;
  readonly depth: number;
}
export interface CoremlPlan {
  readonly hasUsage: boolean;
  readonly refusal: string;
  readonly ops: readonly CoremlPlannedOp[];
}
export interface CoremlMachine {
  readonly model: string;
  readonly chip: string;
  readonly os: string;
  readonly osMajor: number;
  readonly osMinor: number;
  /** "24F74"; empty where the system does not tell. */
  readonly osBuild: string;
  readonly gpu: string;
  readonly performanceCores: number;
  readonly efficiencyCores: number;
  readonly memoryBytes: number;
  /** Most memory of the GPU. */
  readonly gpuBytes: number;
  /** Memory charged to this process, including what GPU and Neural Engine share. */
  readonly processBytes: number;
  readonly unifiedMemory: boolean;
  readonly ane: boolean;
  /** 0 if unknown. */
  readonly aneCores: number;
  readonly rosetta: boolean;
  readonly thermal: "nominal" | "fair" | "serious" | "critical";
  readonly lowPower: boolean;
}

interface LoadedModel {
  readonly id: number;
  readonly inputs: readonly CoremlFeature[];
  readonly outputs: readonly CoremlFeature[];
  readonly states: readonly CoremlFeature[];
  readonly loadSeconds: number;
}

interface PredictFlags {
  readonly keepHalf?: boolean;
  /** Use the synchronous call on our own thread. */
  readonly blocking?: boolean;
}
interface NativeCoreml {
  readonly abi: number;
  /** How its numbers come about. */
  readonly truth: BridgeTruth;
  machine(): CoremlMachine;
  compile(
    packagePath: string,
    target: string,
  ): Started<{
    readonly cached: boolean;
    readonly seconds: number;
  }>;
  functionNames(compiled: string): Started<readonly string[]>;
  load(path: string, options: CoremlLoadOptions): Started<LoadedModel>;
  predict(
    model: number,
    state: number | null,
    inputs: readonly CoremlInput[],
    flags: PredictFlags,
  ): Started<CoremlPrediction>;
  predictBatch(model: number, items: readonly (readonly CoremlInput[])[]): Started<readonly CoremlPrediction[]>;
  newState(model: number): number;
  readState(state: number, name: string, keepHalf: boolean): Started<CoremlOutput>;
  writeState(state: number, tensor: CoremlInput): Started<void>;
  copyState(state: number): Started<number>;
  plan(compiled: string, options: CoremlLoadOptions): Started<CoremlPlan>;
  cancel(job: number): boolean;
  dispose(handle: number): boolean;
  counts(): { readonly handles: number; readonly jobs: number };
}

export interface CoremlState {
  read(name: string, keepHalf?: boolean): Promise<CoremlOutput>;
  write(tensor: CoremlInput): Promise<void>;
  copy(): Promise<CoremlState>;
  dispose(): void;
}
export interface PredictCall extends PredictFlags {
  readonly state?: CoremlState;
  readonly signal?: AbortSignal;
}
export interface CoremlModel extends Omit<LoadedModel, "id"> {
  predict(inputs: readonly CoremlInput[], call?: PredictCall): Promise<CoremlPrediction>;
  predictBatch(items: readonly (readonly CoremlInput[])[], signal?: AbortSignal): Promise<readonly CoremlPrediction[]>;
  newState(): CoremlState;
  dispose(): void;
}
export interface CoremlBridge {
  /** Where the addon is; the program that tries models out lies beside it. */
  readonly path: string;
  /** How its numbers come about: Apple's framework is measured, anything in its place is simulated. */
  readonly truth: BridgeTruth;
  machine(): CoremlMachine;
  compile(
    packagePath: string,
    target: string,
    signal?: AbortSignal,
  ): Promise<{ readonly cached: boolean; readonly seconds: number }>;
  functionNames(compiled: string, signal?: AbortSignal): Promise<readonly string[]>;
  load(path: string, options: CoremlLoadOptions, signal?: AbortSignal): Promise<CoremlModel>;
  plan(compiled: string, options: CoremlLoadOptions, signal?: AbortSignal): Promise<CoremlPlan>;
  counts(): { readonly handles: number; readonly jobs: number };
}

/** native/build-coreml of the repository, or native/ among the resources of an installed app. */
const candidates = (): readonly string[] => addonPlaces("native/build-coreml/rlx_coreml.node", "rlx_coreml.node");

export const NO_COREML = "Core ML exists on Macs only; the simulator runs the same package here.";

/** `path`: a module instead of the usual places, which are looked at on Macs only. */
export function loadCoreml(path: string | null = null): CoremlBridge {
  const found =
    path ?? (process.platform === "darwin" ? candidates().find((candidate) => existsSync(candidate)) : undefined);
  if (found === undefined || !existsSync(found))
    throw process.platform === "darwin" || path !== null
      ? new WorkbenchError("ENV_NO_ADDON", `[coreml] not found: ${path ?? "native/build-coreml/rlx_coreml.node"}`, {
          hint:
            path === null
              ? "Build it with `node scripts/buildNative.mjs coreml` (needs Xcode's command line tools)."
              : "RLX_COREML_ADDON names it: correct that variable, or unset it.",
        })
      : new WorkbenchError("ENV_NO_DEVICE", `[coreml] ${NO_COREML}`, { hint: "Choose coreml-sim, or cpu." });
  const native = requireAddon(
    found,
    "Build it again on this machine with `node scripts/buildNative.mjs coreml`.",
  ) as NativeCoreml;
  if (native.abi !== ABI)
    throw new WorkbenchError("ENV_NO_ADDON", `[coreml] version: got ${String(native.abi)}, expected ${ABI}`, {
      hint: "The addon is older than the program: run `node scripts/buildNative.mjs coreml`.",
    });
  return bridgeOver(native, found);
}

function bridgeOver(native: NativeCoreml, path: string): CoremlBridge {
  const { awaited, tracked, disposer, idOf } = nativeHandles(native);

  const stateOver = (id: number): CoremlState => {
    const state: CoremlState = tracked(id, {
      read: (name: string, keepHalf = false) => awaited(() => native.readState(id, name, keepHalf)),
      write: (tensor: CoremlInput) => awaited(() => native.writeState(id, tensor)),
      copy: async () => stateOver(await awaited(() => native.copyState(id))),
      dispose: disposer(id, () => state),
    });
    return state;
  };

  const modelOver = ({ id, ...facts }: LoadedModel): CoremlModel => {
    const model: CoremlModel = tracked(id, {
      ...facts,
      predict: (inputs: readonly CoremlInput[], { state, signal, ...flags }: PredictCall = {}) =>
        awaited(() => {
          const stateId = state === undefined ? null : idOf(state);
          return native.predict(id, stateId, inputs, flags);
        }, signal),
      predictBatch: (items: readonly (readonly CoremlInput[])[], signal?: AbortSignal) =>
        awaited(() => native.predictBatch(id, items), signal),
      newState: () => stateOver(guarded(() => native.newState(id))),
      dispose: disposer(id, () => model),
    });
    return model;
  };

  return {
    path,
    truth: native.truth,
    machine: () => guarded(() => native.machine()),
    compile: (packagePath, target, signal) => awaited(() => native.compile(packagePath, target), signal),
    functionNames: (compiled, signal) => awaited(() => native.functionNames(compiled), signal),
    load: async (model, options, signal) => modelOver(await awaited(() => native.load(model, options), signal)),
    plan: (compiled, options, signal) => awaited(() => native.plan(compiled, options), signal),
    counts: () => native.counts(),
  };
}
