/**
 * Shared by our native addons: where they are found, errors with codes, handles that are disposed
 * once, and jobs that an AbortSignal cancels.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ChainStep } from "../../ir/session.ts";
import { WorkbenchError, isErrorCode, throwIfCancelled } from "../../diagnostics/errors.ts";

/** Optional steps of a draw that native/src/core/sampling.h has. */
export const NATIVE_STEPS: readonly ChainStep[] = ["logitBias", "frequencyPenalty", "presencePenalty"];

export interface Started<T> {
  readonly job: number;
  readonly promise: Promise<T>;
}

/** The folders of scripts/stageNative.mjs. */
const OS: Readonly<Partial<Record<NodeJS.Platform, string>>> = { darwin: "mac", linux: "linux", win32: "win" };

/**
 * Where an addon may lie, from this folder upwards: built in the repository, among the resources of an installed
 * application (native/), or in the packed library (native/prebuilt/<os>-<arch>/).
 */
export function addonPlaces(built: string, name: string): readonly string[] {
  const here = dirname(fileURLToPath(import.meta.url));
  const packed = join("native", "prebuilt", `${OS[process.platform] ?? process.platform}-${process.arch}`, name);
  const found: string[] = [];
  for (let folder = here; ; folder = dirname(folder)) {
    found.push(join(folder, built), join(folder, "native", name), join(folder, packed));
    if (dirname(folder) === folder) return found;
  }
}

export function requireAddon(path: string, hint: string): unknown {
  try {
    return createRequire(import.meta.url)(path);
  } catch (error) {
    throw new WorkbenchError(
      "ENV_NO_ADDON",
      `[addon] cannot load ${path}: ${error instanceof Error ? error.message : String(error)}`,
      { hint, cause: error },
    );
  }
}

const NO_MEMORY_HINT =
  "Close some programs, take a smaller model or context, or raise the limit on address space (ulimit -v).";

/** Any error of an addon as ours. The code travels as a property, and so does the system's reason. */
function translated(error: unknown): WorkbenchError {
  if (error instanceof WorkbenchError) return error;
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  const system: unknown = error instanceof Error && "system" in error ? error.system : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return new WorkbenchError(isErrorCode(code) ? code : "BUG_UNEXPECTED", message, {
    cause: error,
    ...(code === "ENV_NO_MEMORY" && { hint: NO_MEMORY_HINT }),
    ...(typeof system === "string" ? { details: { system } } : {}),
  });
}

export function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw translated(error);
  }
}

export interface NativeHandles {
  /** A job with its signal: an abort cancels it natively, and the promise then rejects with CANCELLED. */
  readonly awaited: <T>(start: () => Started<T>, signal?: AbortSignal) => Promise<T>;
  readonly tracked: <T extends object>(id: number, handle: T) => T;
  readonly disposer: (id: number, handle: () => object) => () => void;
  readonly idOf: (handle: object) => number;
}

export function nativeHandles(native: {
  readonly cancel: (job: number) => boolean;
  readonly dispose: (handle: number) => boolean;
}): NativeHandles {
  // A safety net: disposes handles that were collected without a dispose.
  const lost = new FinalizationRegistry<number>((handle) => native.dispose(handle));
  const ids = new WeakMap<object, number>();
  // One listener per signal, because a signal may cover hundreds of short jobs.
  const cancelled = new WeakMap<AbortSignal, Set<number>>();
  const jobsOf = (signal: AbortSignal): Set<number> => {
    const known = cancelled.get(signal);
    if (known !== undefined) return known;
    const jobs = new Set<number>();
    cancelled.set(signal, jobs);
    signal.addEventListener("abort", () => jobs.forEach((job) => native.cancel(job)), { once: true });
    return jobs;
  };
  return {
    awaited: async (start, signal) => {
      throwIfCancelled(signal);
      const { job, promise } = guarded(start);
      const running = signal && jobsOf(signal);
      running?.add(job);
      try {
        return await promise;
      } catch (error) {
        throw translated(error);
      } finally {
        running?.delete(job);
      }
    },
    tracked: (id, handle) => {
      ids.set(handle, id);
      lost.register(handle, id, handle);
      return handle;
    },
    disposer: (id, handle) => () => {
      native.dispose(id);
      lost.unregister(handle());
    },
    idOf: (handle) => {
      const id = ids.get(handle);
      if (id === undefined)
        throw new WorkbenchError("HANDLE_UNKNOWN", "[addon] this handle does not belong to the engine");
      return id;
    },
  };
}
