/** The last comparison of an open model with another file: lists sort by it and sum it, as long as the model is open. */
import type { ComparedTensor } from "../../statistics/compare.ts";
import type { OpenModel } from "./openModel.ts";

interface Kept {
  path: string | null;
  errors: ReadonlyMap<string, ComparedTensor>;
}

const keptOf = (model: OpenModel): Kept => model.cached("comparison", (): Kept => ({ path: null, errors: new Map() }));

export function keepComparison(model: OpenModel, path: string, rows: readonly ComparedTensor[]): void {
  const kept = keptOf(model);
  kept.path = path;
  kept.errors = new Map(rows.map((row) => [row.tensor, row]));
}

/** By the names of tensors; undefined where the model was not compared with this file. */
export function errorsAgainst(model: OpenModel, path: string | null): ReadonlyMap<string, ComparedTensor> | undefined {
  const kept = keptOf(model);
  return path === null || kept.path !== path ? undefined : kept.errors;
}
