/**
 * The MLX addon: the types of its exports, how it is found and loaded, and the engine over it. It is
 * built only where MLX is installed. Its absence is ENV_NO_ADDON with a hint.
 */
import { existsSync } from "node:fs";
import type { EngineCounts, GraphRun, TokenRun, TokenResult, SessionBytes, Disposable } from "../../ir/session.ts";
import type { HeldWeight, MlxMemory, MlxEngine, MlxPlanHandle, MlxSessionHandle } from "../../backends/mlx/engine.ts";
import { MLX_FUNCTIONS } from "../../backends/mlx/functions.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Started } from "./nativeHandles.ts";
import { NATIVE_STEPS, addonPlaces, guarded, nativeHandles, requireAddon } from "./nativeHandles.ts";

/** The number in native/src/mlx/binding/addon.cpp. */
const ABI = 5;

/** Exports of native/src/mlx/binding/addon.cpp. */
interface NativeMlx {
  readonly abi: number;
  readonly version: string;
  readonly device: "gpu" | "cpu";
  functions(): readonly string[];
  counts(): EngineCounts;
  memory(): MlxMemory;
  setMemory(options: Parameters<MlxEngine["setMemory"]>[0]): void;
  setFusion(on: boolean): void;
  openWeights(paths: readonly string[], identities: readonly string[]): { readonly id: number; readonly bytes: number };
  loadPlan(bytes: Uint8Array, weights: number | null): number;
  planFacts(plan: number): ReturnType<MlxPlanHandle["facts"]>;
  weightReport(plan: number): Started<readonly HeldWeight[]>;
  openSession(plan: number, options: Parameters<MlxPlanHandle["openSession"]>[0]): number;
  run(session: number, request: TokenRun): Started<TokenResult>;
  runSlots(session: number, request: GraphRun): Started<TokenResult>;
  readSlot(session: number, name: string, target: Uint8Array): void;
  commit(session: number, request: TokenRun): Started<TokenResult>;
  sync(session: number): Started<TokenResult>;
  fork(session: number): Started<number>;
  save(session: number, positions: number): Started<Uint8Array<ArrayBuffer>>;
  restore(session: number, positions: number, state: Uint8Array): Started<void>;
  reset(session: number): Started<void>;
  sessionBytes(session: number, positions: number): SessionBytes;
  cancel(job: number): boolean;
  dispose(handle: number): boolean;
}

const HINT =
  "Install MLX (brew install mlx, or pip install mlx, outside macOS mlx[cpu], into .venv), then run `npm run build:native -- mlx`.";

/** One engine per process: MLX's memory and streams are global. */
let loaded: MlxEngine | undefined;

/** `path`: another addon, for tests. The first call decides. */
export function loadMlx(path?: string): MlxEngine {
  loaded ??= openMlx(path);
  return loaded;
}

/** The engine, or why there is none, in one sentence. */
export function findMlxEngine(): MlxEngine | string {
  try {
    return loadMlx();
  } catch (error) {
    if (error instanceof WorkbenchError && error.code === "ENV_NO_ADDON")
      return `${error.message} ${error.hint ?? ""}`.trim();
    throw error;
  }
}

function openMlx(given: string | undefined): MlxEngine {
  const path =
    given ?? addonPlaces("native/build/rlx_mlx.node", "rlx_mlx.node").find((place) => existsSync(place));
  if (path === undefined)
    throw new WorkbenchError("ENV_NO_ADDON", "[mlx] the MLX engine is not built on this machine.", { hint: HINT });
  const native = requireAddon(path, HINT) as NativeMlx;
  if (native.abi !== ABI)
    throw new WorkbenchError("ENV_NO_ADDON", `[mlx] version: got ${String(native.abi)}, expected ${ABI}.`, {
      hint: "The addon is older than the program: run `npm run build:native -- mlx`.",
    });
  const have = new Set(native.functions());
  const missing = MLX_FUNCTIONS.filter((name) => !have.has(name));
  if (missing.length > 0)
    throw new WorkbenchError("ENV_NO_ADDON", `[mlx] functions are missing: ${missing.join(", ")}.`, {
      hint: "The addon is older than the program: run `npm run build:native -- mlx`.",
    });
  return engineOver(native);
}

function engineOver(native: NativeMlx): MlxEngine {
  const { awaited, disposer, idOf, tracked } = nativeHandles(native);

  const sessionHandle = (id: number): MlxSessionHandle => {
    const run = (request: TokenRun, signal?: AbortSignal): Promise<TokenResult> =>
      awaited(() => native.run(id, request), signal);
    const handle: MlxSessionHandle = tracked(id, {
      // MLX chooses its own threads.
      threads: 1,
      tokens: { follows: true, series: true, steps: NATIVE_STEPS, run },
      run,
      runSlots: (request: GraphRun, signal?: AbortSignal) => awaited(() => native.runSlots(id, request), signal),
      readSlot: (name: string, target: Uint8Array) => guarded(() => native.readSlot(id, name, target)),
      commit: (request: TokenRun, signal?: AbortSignal) => awaited(() => native.commit(id, request), signal),
      sync: (signal?: AbortSignal) => awaited(() => native.sync(id), signal),
      fork: async () => sessionHandle(await awaited(() => native.fork(id))),
      save: (positions: number) => awaited(() => native.save(id, positions)),
      restore: (positions: number, state: Uint8Array) => awaited(() => native.restore(id, positions, state)),
      reset: () => awaited(() => native.reset(id)),
      bytes: (positions: number) => guarded(() => native.sessionBytes(id, positions)),
      dispose: disposer(id, () => handle),
    });
    return handle;
  };

  const planHandle = (id: number): MlxPlanHandle => {
    const handle: MlxPlanHandle = tracked(id, {
      openSession: (options: Parameters<MlxPlanHandle["openSession"]>[0]) =>
        sessionHandle(guarded(() => native.openSession(id, options))),
      facts: () => guarded(() => native.planFacts(id)),
      weights: (signal?: AbortSignal) => awaited(() => native.weightReport(id), signal),
      dispose: disposer(id, () => handle),
    });
    return handle;
  };

  return {
    version: native.version,
    device: native.device,
    functions: native.functions(),
    counts: () => native.counts(),
    memory: () => native.memory(),
    setMemory: (options) => guarded(() => native.setMemory(options)),
    setFusion: (on) => native.setFusion(on),
    openWeights: ({ paths, identities = [] }) =>
      guarded(() => {
        const { id } = native.openWeights(paths, identities);
        const handle: Disposable = tracked(id, { dispose: disposer(id, () => handle) });
        return handle;
      }),
    loadPlan: (bytes, weights) =>
      planHandle(guarded(() => native.loadPlan(bytes, weights === null ? null : idOf(weights)))),
  };
}
