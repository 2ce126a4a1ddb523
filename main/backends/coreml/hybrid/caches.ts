/**
 * Caches that a function takes and gives with every call, where the program keeps no state. They cross as other features do, and
 * belong to the run that makes them or reads them (the last one, where several do).
 */
import type { FeatureBinding } from "../lowering/lower.ts";
import { elementCount, packedByteLength } from "../mil/types.ts";
import type { FunctionFacts } from "../plan/facts.ts";
import type { CrossingValue, PlanRun } from "../plan/predict.ts";

/** Of one run. */
export interface PassedCaches {
  readonly inputs: readonly CrossingValue[];
  readonly outputs: readonly CrossingValue[];
}

export function passedCaches(
  bindings: readonly FeatureBinding[],
  facts: FunctionFacts,
  runs: readonly PlanRun[],
): readonly PassedCaches[] {
  const made = runs.map((): { inputs: CrossingValue[]; outputs: CrossingValue[] } => ({ inputs: [], outputs: [] }));
  const passed = bindings.filter(({ kind }) => kind === "stateIn" || kind === "stateOut" || kind === "freshKeys");
  if (passed.length === 0) return made;
  const { values } = facts;
  const places = placesOf(values.name, new Set(passed.map(({ feature }) => feature)));
  for (const { feature, kind, dtype, shape } of passed) {
    const value = places.get(feature) ?? -1;
    const at = (kind === "stateIn" ? values.lastUse[value] : values.madeBy[value]) ?? -1;
    const run = runs.findIndex(({ first, last }) => first <= at && at <= last);
    // What nothing reads is still handed over with the call.
    const owner = made[Math.max(0, run)];
    owner?.[kind === "stateIn" ? "inputs" : "outputs"].push({
      name: feature,
      bytes: packedByteLength(dtype, elementCount(shape)),
    });
  }
  return made;
}

/** A large program has a hundred thousand values, and few of them cross: only these are noted. */
function placesOf(names: readonly string[], wanted: ReadonlySet<string>): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  names.forEach((name, value) => {
    if (wanted.has(name)) places.set(name, value);
  });
  return places;
}
