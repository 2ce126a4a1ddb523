/** The walk by which a graph becomes something else, node by node: every value is made once, before it is read. */
import { invariant } from "../diagnostics/errors.ts";
import type { Graph, Node, Value } from "./graph.ts";
import { valueKey } from "./graph.ts";

/** `lower` gives what a node's outputs become; the result finds it again for any value of the graph. */
export function lowerNodes<V>(
  graph: Graph,
  lower: (node: Node, valueOf: (value: Value) => V) => readonly V[],
): (value: Value) => V {
  const lowered = new Map<string, V>();
  const valueOf = (value: Value): V => {
    const found = lowered.get(valueKey(value));
    invariant(found, `value ${valueKey(value)} is read before it is made`);
    return found;
  };
  for (const node of graph.nodes) {
    const results = lower(node, valueOf);
    invariant(
      results.length === node.outputs.length,
      `[${node.op}] emitted ${results.length} values, expected ${node.outputs.length}`,
    );
    results.forEach((value, output) => lowered.set(valueKey({ node: node.id, output }), value));
  }
  return valueOf;
}
