/** A fusion is a rule over nodes and a pattern that counts uses and notes misses. */
import { finish } from "../../ir/steps.ts";
import type { Node, Value } from "../../ir/graph.ts";
import { rewrite } from "../../ir/rewrite.ts";
import type { Replacement } from "../../ir/rewrite.ts";
import { opTable } from "../../ops/index.ts";
import type { Pass } from "../pass.ts";
import { Pattern, unchanged } from "../pass.ts";

export interface FusionContext {
  readonly pattern: Pattern;
  readonly map: (old: Value) => Value;
  readonly replace: (absorbed?: readonly Node[]) => Replacement;
}

/** Called for every node; gives the new values of its outputs where the pattern ends at it. */
export type FusionRule = (node: Node, context: FusionContext) => readonly Value[] | undefined;

/** `rules` makes a fresh rule for each run, so that a rule may remember what it has fused. */
export const fusion = (name: string, reason: string, rules: (pattern: Pattern) => FusionRule): Pass => ({
  name,
  reason,
  run: (graph) => {
    const pattern = new Pattern(graph);
    const rule = rules(pattern);
    const {
      graph: next,
      moved,
      changed,
    } = finish(rewrite(opTable, graph, name, (node, map, replace) => rule(node, { pattern, map, replace })));
    if (changed === 0) return unchanged(graph, pattern.misses);
    return { graph: next, moved, hits: changed, misses: pattern.misses };
  },
});
