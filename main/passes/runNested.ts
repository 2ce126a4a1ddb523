/** A pass on a graph and then on the sub-graphs of its nodes, each by itself: nothing moves in or out of one. */
import { mapRegions } from "../ir/nested.ts";
import { regionPlace } from "../ir/regions.ts";
import type { Graph, NodeId } from "../ir/graph.ts";
import { opTable } from "../ops/index.ts";
import type { Steps } from "../ir/steps.ts";
import type { Miss, Pass, PassOutcome } from "../ir/pass.ts";

type NestedOutcome = Omit<PassOutcome, "moved">;

/** The pauses are in the graph itself: sub-graphs are small. */
export function* runNested(pass: Pass, graph: Graph): Steps<NestedOutcome> {
  return inside(pass, pass.inPieces === undefined ? pass.run(graph) : yield* pass.inPieces(graph), new Map());
}

/** `known`: results for sub-graphs seen before. Turns of an unrolled loop share theirs, and so do copied nodes. */
function inside(pass: Pass, outer: PassOutcome, known: Map<Graph, NestedOutcome>): NestedOutcome {
  if (!outer.graph.nodes.some((node) => node.regions.length > 0)) return outer;
  let { hits } = outer;
  const misses: Miss[] = [...outer.misses];
  const { graph: next } = mapRegions(opTable, outer.graph, pass.name, (region, node, index) => {
    const inner = known.get(region) ?? inside(pass, pass.run(region), known);
    known.set(region, inner);
    hits += inner.hits;
    // A near miss names the node of the graph before the pass.
    const before = outer.moved.indexOf(node.id) as NodeId;
    const place = regionPlace(opTable, before < 0 ? node : { ...node, id: before }, index);
    misses.push(...inner.misses.map((miss) => ({ ...miss, node: before, where: `${place}: ${miss.where}` })));
    return inner.graph;
  });
  return { graph: next, hits, misses };
}
