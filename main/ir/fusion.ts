/**
 * A fusion is a rule over nodes and a pattern that counts uses and notes misses. Data: a table of
 * ops makes it a pass.
 */
import type { Node, Value } from "./graph.ts";
import type { OpTable } from "./opTable.ts";
import type { Pass } from "./pass.ts";
import { Pattern, unchanged, walkingPass } from "./pass.ts";
import { rewrite } from "./rewrite.ts";
import type { Replacement } from "./rewrite.ts";

export interface FusionContext {
  readonly map: (old: Value) => Value;
  readonly replace: (absorbed?: readonly Node[]) => Replacement;
}

/** Called for every node; gives the new values of its outputs where the pattern ends at it. */
export type FusionRule = (node: Node, context: FusionContext) => readonly Value[] | undefined;

export interface Fusion {
  readonly name: string;
  /** One sentence: why it is in the pipeline, and why at this place. */
  readonly reason: string;
  /** Makes a fresh rule for each run, so that a rule may remember what it has fused. */
  readonly rules: (pattern: Pattern) => FusionRule;
}

export const fusionPass = (table: OpTable, { name, reason, rules }: Fusion): Pass =>
  walkingPass({ name, reason }, function* (graph) {
    const pattern = new Pattern(graph);
    yield;
    const rule = rules(pattern);
    const fused = yield* rewrite(table, graph, name, (node, map, replace) => rule(node, { map, replace }));
    if (fused.changed === 0) return unchanged(graph, pattern.misses);
    return { graph: fused.graph, moved: fused.moved, hits: fused.changed, misses: pattern.misses };
  });
