/**
 * Times of operations on Core ML. Core ML times whole predictions only, so each measured time is shared
 * out by the costs of the compute plan: a row here is attributed, never measured. Time outside Core ML
 * has its own row.
 */
import type { PlacedOn } from "./planned.ts";

export interface WeighedOp {
  readonly op: string;
  readonly output: string;
  readonly device: PlacedOn;
  /** Share of the plan's cost. */
  readonly cost: number;
  /** The model's operations that it computes. */
  readonly sources: readonly number[];
}

export interface TimedPrediction {
  readonly function: string;
  /** Index of the step it belongs to. */
  readonly step: number;
  /** Seconds since the first step. */
  readonly start: number;
  readonly seconds: number;
  readonly systemSeconds: number;
}

export interface Slice {
  /** `part`: a part of the graph that the host ran, by the clock. */
  readonly kind: "attributed" | "whole" | "bridge" | "part";
  readonly step: number;
  readonly start: number;
  readonly seconds: number;
  readonly op: string;
  readonly label: string;
  readonly device: PlacedOn | "host" | "none";
  readonly sources: readonly number[];
}

/** Costs scaled to a sum of 1. */
function sharesOf(ops: readonly WeighedOp[]): readonly (WeighedOp & { readonly share: number })[] {
  const told = ops.filter((op) => Number.isFinite(op.cost) && op.cost > 0);
  const total = told.reduce((sum, op) => sum + op.cost, 0);
  return told.map((op) => ({ ...op, share: op.cost / total }));
}

/** A function without costs is one slice for the whole prediction. */
export function apportion(
  predictions: readonly TimedPrediction[],
  plans: ReadonlyMap<string, readonly WeighedOp[]>,
): readonly Slice[] {
  const shares = new Map([...plans].map(([name, ops]) => [name, sharesOf(ops)] as const));
  const slices: Slice[] = [];
  for (const { function: name, step, start, seconds, systemSeconds } of predictions) {
    const inside = Math.min(seconds, systemSeconds);
    const ops = shares.get(name) ?? [];
    let at = start;
    const put = (
      kind: Slice["kind"],
      length: number,
      rest: Omit<Slice, "kind" | "step" | "start" | "seconds">,
    ): void => {
      slices.push({ kind, step, start: at, seconds: length, ...rest });
      at += length;
    };
    if (ops.length === 0) put("whole", inside, { op: "prediction", label: name, device: "none", sources: [] });
    for (const { op, output, device, sources, share } of ops)
      put("attributed", inside * share, { op, label: output, device, sources });
    if (seconds > inside)
      put("bridge", seconds - inside, { op: "copies", label: `${name}: in and out`, device: "host", sources: [] });
  }
  return slices;
}
