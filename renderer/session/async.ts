/** The four states of a question to the engine, and the two ways to ask: the newest question wins, or one task that stops. */
import type { WireError } from "../../main/diagnostics/errors.ts";
import { toWireError } from "../../main/diagnostics/errors.ts";

export type Async<T> =
  | { readonly kind: "idle" }
  /** `previous` stays on the screen until its successor arrives, so that nothing jumps. */
  | { readonly kind: "loading"; readonly previous: T | null }
  | { readonly kind: "ready"; readonly value: T }
  | { readonly kind: "failed"; readonly error: WireError };

export const IDLE = { kind: "idle" } as const;

/** What to show now: the value, or the one that it replaces. */
export function current<T>(state: Async<T>): T | null {
  if (state.kind === "ready") return state.value;
  return state.kind === "loading" ? state.previous : null;
}

export function loading<T>(state: Async<T>): Async<T> {
  return { kind: "loading", previous: current(state) };
}

export const ready = <T>(value: T): Async<T> => ({ kind: "ready", value });

export function failed<T>(error: unknown): Async<T> {
  return { kind: "failed", error: toWireError(error) };
}

/** A cancelled request is not a failure to show. */
export function isCancelled(error: unknown): boolean {
  return toWireError(error).code === "CANCELLED";
}

export interface Questions {
  /** Shows `before` as loading, then the answer or the failure, unless a newer question or a drop came between. */
  readonly ask: <T>(before: Async<T>, question: () => Promise<T>, show: (state: Async<T>) => void) => Promise<void>;
  /** The pending question is never answered. */
  readonly drop: () => void;
}

export function createQuestions(): Questions {
  let newest = 0;
  return {
    async ask(before, question, show) {
      newest += 1;
      const mine = newest;
      show(loading(before));
      const answer = await question().then(ready, (error: unknown) => failed<never>(error));
      if (mine === newest) show(answer);
    },
    drop() {
      newest += 1;
    },
  };
}

export interface Task {
  /** Starts anew; an older run of the task is no longer current. */
  readonly begin: () => TaskRun;
  /** Asks the run to end; it still reports. */
  readonly stop: () => void;
  /** Stops the run, and what it still reports is not shown. */
  readonly abandon: () => void;
}
export interface TaskRun {
  readonly signal: AbortSignal;
  readonly isCurrent: () => boolean;
}

export function createTask(): Task {
  let running: AbortController | null = null;
  return {
    begin() {
      const mine = new AbortController();
      running = mine;
      return { signal: mine.signal, isCurrent: () => running === mine };
    },
    stop: () => running?.abort(),
    abandon() {
      running?.abort();
      running = null;
    },
  };
}
