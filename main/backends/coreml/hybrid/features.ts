/**
 * Which runs of a function take and give its features. An input, or a cache that is passed because the program keeps no state, is
 * taken by each run that reads it; an output or a new cache is given by the run that makes it.
 */
import type { FeatureBinding } from "../lowering/lower.ts";
import type { FunctionFacts } from "../plan/facts.ts";
import type { PlanRun } from "../plan/predict.ts";

/** Of one run. */
export interface RunFeatures {
  readonly inputs: readonly FeatureBinding[];
  readonly outputs: readonly FeatureBinding[];
}

const TAKEN: ReadonlySet<FeatureBinding["kind"]> = new Set(["input", "stateIn"]);

export function featuresOfRuns(
  bindings: readonly FeatureBinding[],
  facts: FunctionFacts,
  runs: readonly PlanRun[],
): readonly RunFeatures[] {
  const made = runs.map((): { inputs: FeatureBinding[]; outputs: FeatureBinding[] } => ({ inputs: [], outputs: [] }));
  const crossing = bindings.filter(({ kind }) => kind !== "state");
  const places = placesOf(facts.values.name, new Set(crossing.map(({ feature }) => feature)));
  const readers = readersOf(facts, runs, new Set(places.values()));
  for (const binding of crossing) {
    const value = places.get(binding.feature) ?? -1;
    const isTaken = TAKEN.has(binding.kind);
    const madeBy = facts.values.madeBy[value] ?? -1;
    const owners = isTaken
      ? (readers.get(value) ?? [])
      : [runs.findIndex(({ first, last }) => first <= madeBy && madeBy <= last)];
    // What nothing reads, or nothing makes, is still handed over with the call.
    for (const run of owners.length === 0 ? [0] : owners)
      made[Math.max(0, run)]?.[isTaken ? "inputs" : "outputs"].push(binding);
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

/** The runs that read these values, in order. */
function readersOf(
  { operandStart, operands }: FunctionFacts,
  runs: readonly PlanRun[],
  wanted: ReadonlySet<number>,
): ReadonlyMap<number, readonly number[]> {
  const readers = new Map<number, number[]>();
  runs.forEach(({ first, last }, run) => {
    for (let o = operandStart[first] as number; o < (operandStart[last + 1] as number); o++) {
      const value = operands[o] as number;
      if (!wanted.has(value)) continue;
      const known = readers.get(value) ?? [];
      if (known.at(-1) !== run) readers.set(value, [...known, run]);
    }
  });
  return readers;
}
