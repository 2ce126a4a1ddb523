/**
 * The native addon: the types of its exports, how it is found and loaded, and the engine over it. A
 * missing or wrong addon is ENV_NO_ADDON with a hint. The program still starts.
 */
import { existsSync } from "node:fs";
import type { CpuEngine, KernelNote, PlanHandle, SessionOptions, StoredRows, StoredSums, WeightsHandle } from "../../backends/cpu/engine.ts";
import type { MeasuredRows, RowsToMeasure } from "../../ir/measure.ts";
import type { RepackedRows } from "../../ir/repack.ts";
import type { EngineCounts, TokenRun, TokenResult, SessionBytes, TokenSession } from "../../ir/session.ts";
import { CONTROL_KERNELS, CPU_KERNELS } from "../../backends/cpu/kernels.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { freeBytes } from "../machine/machineInfo.ts";
import type { Started } from "./nativeHandles.ts";
import type { CpuWeights } from "../settings.ts";
import { NATIVE_STEPS, addonPlaces, guarded, nativeHandles, requireAddon } from "./nativeHandles.ts";

/** The number in native/src/cpu/binding/addon.cpp. */
const ABI = 9;

/** Exports of native/src/cpu/binding/addon.cpp. Handles are numbers that hold a generation. */
interface NativeAddon {
  readonly abi: number;
  readonly hugePages: boolean;
  kernels(): readonly string[];
  isas(): readonly string[];
  kernelNotes(isa?: string): readonly KernelNote[];
  counts(): EngineCounts;
  openWeights(paths: readonly string[], identities: readonly string[]): { readonly id: number; readonly bytes: number };
  readWeights(weights: number, file: number, offset: number, target: Uint8Array): void;
  checkWeights(weights: number): void;
  enlargePages(session: number, copy: boolean, available: number): void;
  largePages(weights: number): { readonly bytes: number; readonly done: boolean };
  loadPlan(bytes: Uint8Array, weights: number | null): number;
  openSession(plan: number, options: SessionOptions & { readonly isa?: string }): number;
  run(session: number, request: TokenRun): Started<TokenResult>;
  fork(session: number, positions: number): Started<number>;
  save(session: number, positions: number): Started<Uint8Array<ArrayBuffer>>;
  restore(session: number, positions: number, state: Uint8Array): Started<void>;
  reset(session: number): Started<void>;
  sessionBytes(session: number, positions: number): SessionBytes;
  cancel(job: number): boolean;
  dispose(handle: number): boolean;
  dequantize(type: string, bytes: Uint8Array, target: Float32Array, isa?: string): void;
  halve(type: string, values: Float32Array, target: Uint16Array, isa?: string): void;
  storedError(rows: StoredRows, isa?: string): Started<StoredSums>;
  repack(
    from: string,
    bytes: Uint8Array,
    to: string,
    columns: number,
    importance: Float32Array | null,
    threads: number,
    isa?: string,
  ): Started<RepackedRows>;
  measure(rows: RowsToMeasure, threads: number, isa?: string): Started<MeasuredRows>;
  bandwidth(threads: number, bytes: number, seconds: number): Started<number>;
}

export interface AddonOptions {
  /** A path to the .node file instead of the usual places. */
  readonly path?: string | null;
  /** An instruction set instead of the best one: for tests. */
  readonly isa?: string;
  readonly weights?: CpuWeights;
}

/** RLX_ADDON=off: behave as if no addon was built. */
const OFF = "off";

const builtAddon = (): string | undefined =>
  addonPlaces("native/build/rlx.node", "rlx.node").find((place) => existsSync(place));

/** True if none was built and none is named. A broken or old addon is an error instead. */
export const addonAbsent = (path: string | null): boolean =>
  path === OFF || (path === null && builtAddon() === undefined);

const OTHER_PATH = "RLX_ADDON names it: correct that variable, or unset it for the addon that was built.";

export function loadAddon(options: AddonOptions = {}): CpuEngine {
  const named = typeof options.path === "string";
  if (options.path === OFF)
    throw new WorkbenchError("ENV_NO_ADDON", "[addon] not found: RLX_ADDON is off", {
      hint: "Unset RLX_ADDON for the addon that was built.",
    });
  const path = options.path ?? builtAddon();
  if (path === undefined || !existsSync(path))
    throw new WorkbenchError(
      "ENV_NO_ADDON",
      `[addon] not found: ${options.path ?? "native/build/rlx.node"} does not exist`,
      {
        hint: named ? OTHER_PATH : "Build it with `npm run build:native` (needs CMake and a C++20 compiler).",
      },
    );
  const native = openAddon(path, named ? OTHER_PATH : "Build it again on this machine with `npm run build:native`.");
  return engineOver(native, options);
}

function openAddon(path: string, hint: string): NativeAddon {
  const native = requireAddon(path, hint) as NativeAddon;
  if (native.abi !== ABI)
    throw new WorkbenchError("ENV_NO_ADDON", `[addon] version: got ${String(native.abi)}, expected ${ABI}`, {
      hint: "The addon is older than the program: run `npm run build:native`.",
    });
  const have = new Set(native.kernels());
  const missing = [...CPU_KERNELS, ...CONTROL_KERNELS].filter((kernel) => !have.has(kernel));
  if (missing.length > 0)
    throw new WorkbenchError("ENV_NO_ADDON", `[addon] kernels are missing: ${missing.join(", ")}`, {
      hint: "The addon is older than the program: run `npm run build:native`.",
    });
  return native;
}

/** Free memory of the container or the machine, whichever is less. */
const availableBytes = (): number => Math.min(process.availableMemory(), freeBytes());

function weightsNote(native: NativeAddon, weights: CpuWeights): KernelNote {
  const mapped = "read where the file is mapped";
  const how =
    weights === "mapped"
      ? `${mapped} (RLX_CPU_WEIGHTS)`
      : !native.hugePages
        ? `${mapped} (the system gives no pages of 2 MB)`
        : weights === "copied"
          ? "copied into pages of 2 MB at the second run, if larger than 32 MiB and half of the available memory holds them (RLX_CPU_WEIGHTS)"
          : `${mapped}; if larger than 32 MiB, read again from the disk into pages of 2 MB at the second run, where the system has them for files`;
  return { kernels: "weights", how };
}

function engineOver(native: NativeAddon, { isa, weights: cpuWeights = "auto" }: AddonOptions): CpuEngine {
  const isas = native.isas();
  if (isa !== undefined && !isas.includes(isa))
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[addon] instruction set: got ${isa}, expected one of ${isas.join(", ")}`,
    );
  const forced = isa === undefined ? {} : { isa };
  const { awaited, disposer, idOf, tracked } = nativeHandles(native);

  const weightsHandle = (id: number, bytes: number): WeightsHandle => {
    const handle: WeightsHandle = tracked(id, {
      bytes,
      read: (file: number, offset: number, target: Uint8Array) =>
        guarded(() => native.readWeights(id, file, offset, target)),
      check: () => guarded(() => native.checkWeights(id)),
      largePages: () => guarded(() => native.largePages(id)),
      dispose: disposer(id, () => handle),
    });
    return handle;
  };

  const sessionHandle = (id: number, threads: number): TokenSession => {
    let runs = 0;
    const run = (request: TokenRun, signal?: AbortSignal): Promise<TokenResult> =>
      awaited(() => {
        // Larger pages pay off from the second run on. The first does not wait for them.
        if (++runs === 2 && cpuWeights !== "mapped") native.enlargePages(id, cpuWeights === "copied", availableBytes());
        return native.run(id, request);
      }, signal);
    const handle: TokenSession = tracked(id, {
      threads,
      tokens: { follows: true, series: true, steps: NATIVE_STEPS, run },
      run,
      fork: async (positions: number) => sessionHandle(await awaited(() => native.fork(id, positions)), threads),
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
        sessionHandle(
          guarded(() => native.openSession(id, { ...options, ...forced })),
          options.threads,
        ),
      dispose: disposer(id, () => handle),
    });
    return handle;
  };

  return {
    isa: isa ?? isas.at(-1) ?? "scalar",
    isas,
    kernels: native.kernels(),
    notes: [...native.kernelNotes(isa), weightsNote(native, cpuWeights)],
    counts: () => native.counts(),
    openWeights: ({ paths, identities = [] }) =>
      guarded(() => {
        const { id, bytes } = native.openWeights(paths, identities);
        return weightsHandle(id, bytes);
      }),
    loadPlan: (bytes, weights) =>
      planHandle(guarded(() => native.loadPlan(bytes, weights === null ? null : idOf(weights)))),
    dequantize: (type, bytes, target) => guarded(() => native.dequantize(type, bytes, target, isa)),
    halve: (type, values, target) => guarded(() => native.halve(type, values, target, isa)),
    storedError: (rows, signal) => awaited(() => native.storedError(rows, isa), signal),
    repack: ({ from, bytes, to, columns, importance }, threads, signal) =>
      awaited(() => native.repack(from, bytes, to, columns, importance, threads, isa), signal),
    measure: (rows, threads, signal) => awaited(() => native.measure(rows, threads, isa), signal),
    readBandwidth: (threads, bytes, seconds, signal) =>
      awaited(() => native.bandwidth(threads, bytes, seconds), signal),
  };
}
