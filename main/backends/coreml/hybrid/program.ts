/**
 * What the hybrid runner runs: a graph cut into parts, and the function of a package that each Core ML part is. A route holds one,
 * and so does each function of a model's package.
 */
import type { Graph } from "../../../ir/graph.ts";
import type { FeatureBinding } from "../lowering/lower.ts";
import type { Part } from "./partition.ts";
import type { Route } from "./route.ts";

export interface PartFunction {
  readonly name: string;
  readonly bindings: readonly FeatureBinding[];
}

export interface HybridProgram {
  readonly graph: Graph;
  readonly parts: readonly Part[];
  /** By part index; host parts are not in it. */
  readonly functions: ReadonlyMap<number, PartFunction>;
}

export function programOf({ graph, parts, functionNames, functions }: Route): HybridProgram {
  const named = [...functions].map(([index, { bindings }]): [number, PartFunction] => [
    index,
    { name: functionNames.get(index) ?? "main", bindings },
  ]);
  return { graph, parts, functions: new Map(named) };
}
