/**
 * Long work of an open model, so that the engine answers others meanwhile: in slices, shared by all callers of the same,
 * ended when none of them waits any more, and the last few results of each kind kept.
 */
import { throwIfCancelled, WorkbenchError } from "../../diagnostics/errors.ts";
import type { Steps } from "../../ir/steps.ts";
import type { OpenModel } from "./openModel.ts";

/** Milliseconds that work may hold the engine at a time. */
const SLICE_MS = 8;

/** Where there is `setImmediate`: a timer waits a millisecond at least. */
const system = globalThis as { readonly setImmediate?: (callback: () => void) => unknown };
const nextTurn = (callback: () => void): void => void (system.setImmediate ?? setTimeout)(callback);

/** Work that waits for its next slice. A turn of the engine's loop runs one slice: a question waits for that, however many work. */
const waiting: (() => void)[] = [];

function oneSlice(): void {
  waiting.shift()?.();
  if (waiting.length > 0) nextTurn(oneSlice);
}

export const othersFirst = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) nextTurn(oneSlice);
  });

/** Runs work to its end, letting others have a turn between slices. */
export async function inSlices<T>(steps: Steps<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    const end = performance.now() + SLICE_MS;
    do {
      const step = steps.next();
      if (step.done === true) return step.value;
    } while (performance.now() < end);
    await othersFirst();
    throwIfCancelled(signal);
  }
}

interface Running {
  readonly promise: Promise<unknown>;
  readonly abort: AbortController;
  waiting: number;
}

/** Of each kind of result, how many are kept: graphs and programs are large, columns are not. */
export interface TaskKind<T> {
  readonly name: string;
  readonly keep: number;
  /** Phantom type parameter. */
  readonly result?: T;
}

export class TaskCache {
  readonly #kept = new Map<string, Map<string, unknown>>();
  readonly #running = new Map<string, Running>();

  /**
   * Returns the kept result, joins the running computation, or starts `make`. Its signal aborts
   * when the last caller leaves.
   */
  async get<T>(
    kind: TaskKind<T>,
    key: string,
    signal: AbortSignal,
    make: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const kept = this.#kept.get(kind.name) ?? new Map<string, unknown>();
    this.#kept.set(kind.name, kept);
    if (kept.has(key)) {
      const value = kept.get(key) as T;
      // The last one used is the last one to go.
      kept.delete(key);
      kept.set(key, value);
      return value;
    }
    throwIfCancelled(signal);
    const name = `${kind.name} ${key}`;
    const running =
      this.#running.get(name) ?? this.#start(name, make, (value) => keepLast(kept, key, value, kind.keep));
    return (await this.#wait(name, running, signal)) as T;
  }

  #start(name: string, make: (signal: AbortSignal) => Promise<unknown>, keep: (value: unknown) => void): Running {
    const abort = new AbortController();
    const promise = make(abort.signal).then((value) => {
      keep(value);
      return value;
    });
    const running: Running = { promise, abort, waiting: 0 };
    this.#running.set(name, running);
    const end = (): void => {
      if (this.#running.get(name) === running) this.#running.delete(name);
    };
    promise.then(end, end);
    return running;
  }

  #wait(name: string, running: Running, signal: AbortSignal): Promise<unknown> {
    running.waiting++;
    return new Promise((resolve, reject) => {
      let waits = true;
      const leave = (): void => {
        signal.removeEventListener("abort", onAbort);
        if (waits) running.waiting--;
        waits = false;
      };
      const onAbort = (): void => {
        leave();
        if (running.waiting === 0) {
          // A later caller gets work of its own.
          this.#running.delete(name);
          running.abort.abort();
        }
        reject(new WorkbenchError("CANCELLED", "Cancelled."));
      };
      signal.addEventListener("abort", onAbort);
      running.promise.then(
        (value) => {
          leave();
          resolve(value);
        },
        (error: unknown) => {
          leave();
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
    });
  }

  /** Ends what runs: its model is closed. */
  end(): void {
    for (const { abort } of this.#running.values()) abort.abort();
    this.#running.clear();
    this.#kept.clear();
  }
}

function keepLast(kept: Map<string, unknown>, key: string, value: unknown, limit: number): void {
  kept.set(key, value);
  for (const oldest of kept.keys()) {
    if (kept.size <= limit) return;
    kept.delete(oldest);
  }
}

export const tasksOf = (model: OpenModel): TaskCache =>
  model.cached("tasks", () => {
    const tasks = new TaskCache();
    model.onDispose(() => tasks.end());
    return tasks;
  });
