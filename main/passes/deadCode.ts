/**
 * Given: nodes that no output and no state needs.
 * Result: the graph without them. Inputs and states stay: they are the signature.
 */
import { prune } from "../ir/rewrite.ts";
import type { Pass } from "../ir/pass.ts";

export const deadCode: Pass = {
  name: "dead code",
  reason:
    "First, so that no later pass spends time on what nothing needs; a file may hold weights that its graph never reads.",
  run: (graph) => {
    const { graph: next, moved, changed } = prune(graph);
    return { graph: next, moved, hits: changed, misses: [] };
  },
};
