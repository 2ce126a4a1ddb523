/**
 * Given: two pure nodes with the same op, attributes and operands (commutative operands in any
 * order).
 * Result: the first stands for both and carries the origins of both.
 */
import { each } from "../ir/steps.ts";
import type { Steps } from "../ir/steps.ts";
import { attrsText } from "../ir/attributes.ts";
import type { Graph, Node, NodeId, Value } from "../ir/graph.ts";
import { isLeaf } from "../ir/graph.ts";
import { graphHash } from "../ir/hash.ts";
import type { Pass } from "../ir/pass.ts";
import { unchanged, walkingPass } from "../ir/pass.ts";
import { rewrite } from "../ir/rewrite.ts";
import { opOf, opTable } from "../ops/index.ts";

const NAME = "common subexpressions";

/**
 * The pass that nodes name which compute something once more on purpose, so that the first result need not be kept
 * (main/compiler/recompute.ts).
 */
export const RECOMPUTED = "recompute";

/** The same operands always give the same results, and nothing else happens: in its sub-graphs too. */
export function isPure(node: Node): boolean {
  const traits = opOf(node.op)?.traits ?? [];
  return (
    traits.includes("pure") &&
    !traits.includes("random") &&
    node.regions.every((region) => region.nodes.every((inner) => isLeaf(inner) || isPure(inner)))
  );
}

/** Nodes between two pauses. */
const SLICE = 512;

/** For each node the first node that computes the same. */
function* representatives(graph: Graph): Steps<Int32Array> {
  const first = Int32Array.from(graph.nodes.keys());
  const seen = new Map<string, NodeId>();
  const key = (value: Value): string => `${first[value.node] ?? value.node}.${value.output}`;
  yield* each(graph.nodes, SLICE, (node) => {
    const text = keyOf(node, key);
    if (text === undefined) return;
    const known = seen.get(text);
    if (known === undefined) seen.set(text, node.id);
    else first[node.id] = known;
  });
  return first;
}

/**
 * undefined: the node stands for itself alone. Params are unique by name already; inputs and states
 * are what they are.
 */
function keyOf(node: Node, key: (value: Value) => string): string | undefined {
  if (node.op === "constant") return `constant ${String(node.attrs["data"])}`;
  if (isLeaf(node) || !isPure(node)) return undefined;
  const traits = opOf(node.op)?.traits ?? [];
  const inputs = node.inputs.map(key);
  if (traits.includes("commutative")) inputs.sort();
  const again = node.passes.includes(RECOMPUTED) ? "again " : "";
  return `${again}${node.op} ${inputs.join(" ")} ${attrsText(node.attrs)}${node.regions.map(graphHash).join(" ")}`;
}

export const commonSubexpressions: Pass = walkingPass(
  {
    name: NAME,
    reason: "Before the fusions, so that a pattern sees one producer where the model wrote the same expression twice.",
  },
  function* (graph) {
    const first = yield* representatives(graph);
    const twins = new Map<number, Node[]>();
    for (const node of graph.nodes) {
      const representative = first[node.id] ?? node.id;
      if (representative === node.id) continue;
      const list = twins.get(representative);
      if (list) list.push(node);
      else twins.set(representative, [node]);
    }
    if (twins.size === 0) return unchanged(graph);
    const { graph: next, moved } = yield* rewrite(opTable, graph, NAME, (node, map, replace) => {
      const representative = first[node.id] ?? node.id;
      if (representative !== node.id)
        return node.outputs.map((_, output) => map({ node: representative as NodeId, output }));
      const absorbed = twins.get(node.id);
      if (!absorbed) return undefined;
      const replacement = replace(absorbed);
      const data = node.op === "constant" ? graph.constants.get(String(node.attrs["data"])) : undefined;
      if (data) return [replacement.constant(data)];
      return replacement.apply(node.op, node.inputs.map(map), node.attrs, { regions: node.regions });
    });
    const hits = [...twins.values()].reduce((sum, list) => sum + list.length, 0);
    return { graph: next, moved, hits, misses: [] };
  },
);
