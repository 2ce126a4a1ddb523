/**
 * The native addon: its whole face in types, how it is found and loaded, and the engine over it. A missing or wrong addon
 * is ENV_NO_ADDON with what to do; the program still starts.
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type {
  CpuEngine,
  EngineCounts,
  PlanHandle,
  RunRequest,
  RunResult,
  SessionBytes,
  SessionHandle,
  SessionOptions,
  WeightsHandle,
} from "../backends/cpu/engine.ts";
import { CPU_KERNELS, PATTERN_KERNELS } from "../backends/cpu/kernels.ts";
import { WorkbenchError, isErrorCode, throwIfCancelled } from "../diagnostics/errors.ts";

/** The number in native/src/binding/addon.cpp. */
const ABI = 1;

interface Started<T> {
  readonly job: number;
  readonly promise: Promise<T>;
}

/** What native/src/binding/addon.cpp exports, name by name. Handles are numbers with a generation inside. */
interface NativeAddon {
  readonly abi: number;
  kernels(): readonly string[];
  isas(): readonly string[];
  counts(): EngineCounts;
  openWeights(paths: readonly string[]): { readonly id: number; readonly bytes: number };
  readWeights(weights: number, file: number, offset: number, target: Uint8Array): void;
  checkWeights(weights: number): void;
  loadPlan(bytes: Uint8Array, weights: number | null): number;
  openSession(plan: number, options: SessionOptions & { readonly isa?: string }): number;
  run(session: number, request: RunRequest): Started<RunResult>;
  fork(session: number, positions: number): Started<number>;
  save(session: number, positions: number): Started<Uint8Array<ArrayBuffer>>;
  restore(session: number, positions: number, state: Uint8Array): Started<void>;
  reset(session: number): Started<void>;
  sessionBytes(session: number, positions: number): SessionBytes;
  cancel(job: number): boolean;
  dispose(handle: number): boolean;
  dequantize(type: string, bytes: Uint8Array, target: Float32Array, isa?: string): void;
  halve(type: string, values: Float32Array, target: Uint16Array, isa?: string): void;
  bandwidth(threads: number, bytes: number, seconds: number): Started<number>;
}

export interface AddonOptions {
  /** A path to the .node file instead of the usual places. */
  readonly path?: string | null;
  /** An instruction set instead of the best one: for tests. */
  readonly isa?: string;
}

/** native/build of the repository, or native/ among the resources of an installed app. */
function candidates(): readonly string[] {
  const here = dirname(fileURLToPath(import.meta.url));
  const found: string[] = [];
  for (let folder = here; ; folder = dirname(folder)) {
    found.push(join(folder, "native", "build", "rlx.node"), join(folder, "native", "rlx.node"));
    if (dirname(folder) === folder) return found;
  }
}

/** Any error of the addon as ours: the code travels as a property. */
function translated(error: unknown): WorkbenchError {
  if (error instanceof WorkbenchError) return error;
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return new WorkbenchError(isErrorCode(code) ? code : "BUG_UNEXPECTED", message, { cause: error });
}

function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw translated(error);
  }
}

export function loadAddon(options: AddonOptions = {}): CpuEngine {
  const path = options.path ?? candidates().find((candidate) => existsSync(candidate));
  if (path === undefined || !existsSync(path))
    throw new WorkbenchError(
      "ENV_NO_ADDON",
      `[addon] not found: ${options.path ?? "native/build/rlx.node"} does not exist`,
      {
        hint: "Build it with `npm run build:native` (needs CMake and a C++20 compiler).",
      },
    );
  const native = openAddon(path);
  return engineOver(native, options.isa);
}

function openAddon(path: string): NativeAddon {
  let loaded: unknown;
  try {
    loaded = createRequire(import.meta.url)(path);
  } catch (error) {
    throw new WorkbenchError(
      "ENV_NO_ADDON",
      `[addon] cannot load ${path}: ${error instanceof Error ? error.message : String(error)}`,
      {
        hint: "Build it again on this machine with `npm run build:native`.",
        cause: error,
      },
    );
  }
  const native = loaded as NativeAddon;
  if (native.abi !== ABI)
    throw new WorkbenchError("ENV_NO_ADDON", `[addon] version: got ${String(native.abi)}, expected ${ABI}`, {
      hint: "The addon is older than the program: run `npm run build:native`.",
    });
  const have = new Set(native.kernels());
  const missing = [...CPU_KERNELS, ...PATTERN_KERNELS].filter((kernel) => !have.has(kernel));
  if (missing.length > 0)
    throw new WorkbenchError("ENV_NO_ADDON", `[addon] kernels are missing: ${missing.join(", ")}`, {
      hint: "The addon is older than the program: run `npm run build:native`.",
    });
  return native;
}

function engineOver(native: NativeAddon, isa: string | undefined): CpuEngine {
  const isas = native.isas();
  if (isa !== undefined && !isas.includes(isa))
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[addon] instruction set: got ${isa}, expected one of ${isas.join(", ")}`,
    );
  const forced = isa === undefined ? {} : { isa };
  // The safety net only: what is collected without having been disposed is disposed then.
  const lost = new FinalizationRegistry<number>((handle) => native.dispose(handle));
  const ids = new WeakMap<object, number>();

  const idOf = (handle: object): number => {
    const id = ids.get(handle);
    if (id === undefined)
      throw new WorkbenchError("HANDLE_UNKNOWN", "[addon] this handle does not belong to the engine");
    return id;
  };
  const tracked = <T extends object>(id: number, handle: T): T => {
    ids.set(handle, id);
    lost.register(handle, id, handle);
    return handle;
  };
  const disposer = (id: number, handle: () => object) => (): void => {
    native.dispose(id);
    lost.unregister(handle());
  };

  /** A job with its signal: an abort cancels it natively, and the promise then rejects with CANCELLED. */
  const awaited = async <T>(start: () => Started<T>, signal?: AbortSignal): Promise<T> => {
    throwIfCancelled(signal);
    const { job, promise } = guarded(start);
    const abort = (): void => void native.cancel(job);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await promise;
    } catch (error) {
      throw translated(error);
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  };

  const weightsHandle = (id: number, bytes: number): WeightsHandle => {
    const handle: WeightsHandle = tracked(id, {
      bytes,
      read: (file: number, offset: number, target: Uint8Array) =>
        guarded(() => native.readWeights(id, file, offset, target)),
      check: () => guarded(() => native.checkWeights(id)),
      dispose: disposer(id, () => handle),
    });
    return handle;
  };

  const sessionHandle = (id: number): SessionHandle => {
    const handle: SessionHandle = tracked(id, {
      run: (request: RunRequest, signal?: AbortSignal) => awaited(() => native.run(id, request), signal),
      fork: async (positions: number) => sessionHandle(await awaited(() => native.fork(id, positions))),
      save: (positions: number) => awaited(() => native.save(id, positions)),
      restore: (positions: number, state: Uint8Array) => awaited(() => native.restore(id, positions, state)),
      reset: () => awaited(() => native.reset(id)),
      bytes: (positions: number) => guarded(() => native.sessionBytes(id, positions)),
      dispose: disposer(id, () => handle),
    });
    return handle;
  };

  const planHandle = (id: number): PlanHandle => {
    const handle: PlanHandle = tracked(id, {
      openSession: (options: SessionOptions) =>
        sessionHandle(guarded(() => native.openSession(id, { ...options, ...forced }))),
      dispose: disposer(id, () => handle),
    });
    return handle;
  };

  return {
    isa: isa ?? isas.at(-1) ?? "scalar",
    isas,
    kernels: native.kernels(),
    counts: () => native.counts(),
    openWeights: (paths) =>
      guarded(() => {
        const { id, bytes } = native.openWeights(paths);
        return weightsHandle(id, bytes);
      }),
    loadPlan: (bytes, weights) =>
      planHandle(guarded(() => native.loadPlan(bytes, weights === null ? null : idOf(weights)))),
    dequantize: (type, bytes, target) => guarded(() => native.dequantize(type, bytes, target, isa)),
    halve: (type, values, target) => guarded(() => native.halve(type, values, target, isa)),
    readBandwidth: (threads, bytes, seconds, signal) =>
      awaited(() => native.bandwidth(threads, bytes, seconds), signal),
  };
}
