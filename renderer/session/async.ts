/** The four states of everything that is asked of the engine. No boolean pairs. */
import type { WireError } from "../../main/diagnostics/errors.ts";
import { toWireError } from "../../main/diagnostics/errors.ts";

export type Async<T> =
  | { readonly kind: "idle" }
  /** `previous` stays on the screen while its successor is on the way, so that nothing jumps. */
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
