/**
 * Two compared graphs as one to draw: all of B, and what only A has where it stood in A. It is for looking at and not for running:
 * what A alone had is read by ops of B that read something else.
 */
import type { Graph, Node, NodeId, Value } from "../ir/graph.ts";
import { isLeaf } from "../ir/graph.ts";
import { nodeName, scopeOf } from "../ir/nodePlace.ts";
import type { ComparedGraphs, ComparedOp } from "./graphs.ts";

export interface MergedGraph {
  readonly graph: Graph;
  /** By node: how it differs; undefined where both have it alike. */
  readonly kinds: readonly (ComparedOp["kind"] | undefined)[];
  /** By node, its id in either graph; -1: that one has none. */
  readonly a: Int32Array;
  readonly b: Int32Array;
}

/** A node of the merged graph before it has a number. */
interface Draft {
  readonly node: Node;
  readonly side: "a" | "b";
  /** Stands behind the node of B with this id. */
  readonly after: number;
}

export function mergeGraphs(a: Graph, b: Graph, { pairs, ops }: ComparedGraphs): MergedGraph {
  /** Of nodes of A, the node of B in their place. */
  const mates = new Map<number, number>();
  for (const pair of pairs) if (pair.a !== null && pair.b !== null) mates.set(pair.a, pair.b);
  const leaves = new Map(b.nodes.filter(isLeaf).map((node) => [leafKey(node), node.id as number]));
  for (const node of a.nodes) {
    const mate = isLeaf(node) ? leaves.get(leafKey(node)) : undefined;
    if (mate !== undefined) mates.set(node.id, mate);
  }
  const removed = draftsOf(a, mates);
  const drafts: readonly Draft[] = [...b.nodes.map((node): Draft => ({ node, side: "b", after: node.id })), ...removed];
  // Stable: what is removed comes behind its place in the order of A.
  const order = [...drafts].sort((x, y) => x.after - y.after);
  const [ofA, ofB] = [new Map<number, number>(), new Map<number, number>()];
  order.forEach(({ node, side }, i) => (side === "a" ? ofA : ofB).set(node.id, i));
  for (const [from, mate] of mates) ofA.set(from, ofB.get(mate) ?? -1);
  const inB = (value: Value): Value => ({ ...value, node: (ofB.get(value.node) ?? 0) as NodeId });
  const readers = readersOfRemoved(a, mates, ofA);
  const nodes = order.map(({ node, side }, i): Node => {
    const own =
      side === "b"
        ? node.inputs.map(inB)
        : node.inputs.flatMap((value) => {
            const at = ofA.get(value.node) ?? -1;
            return at < 0 || at >= i ? [] : [{ ...value, node: at as NodeId }];
          });
    return { ...node, id: i as NodeId, inputs: [...own, ...(side === "b" ? (readers.get(i) ?? []) : [])] };
  });
  const kindOf = new Map(ops.map((op) => [op.b === null ? `a${op.a ?? -1}` : `b${op.b}`, op.kind]));
  const back = new Map([...mates].map(([from, mate]) => [mate, from]));
  return {
    graph: {
      ...b,
      nodes,
      inputs: b.inputs.map((id) => (ofB.get(id) ?? 0) as NodeId),
      outputs: b.outputs.map((output) => ({ ...output, value: inB(output.value) })),
      states: b.states.map((state) => ({
        ...state,
        input: (ofB.get(state.input) ?? 0) as NodeId,
        output: inB(state.output),
      })),
      constants: new Map([...a.constants, ...b.constants]),
    },
    kinds: order.map(({ node, side }) => kindOf.get(`${side}${node.id}`)),
    a: Int32Array.from(order, ({ node, side }) => (side === "a" ? node.id : (back.get(node.id) ?? -1))),
    b: Int32Array.from(order, ({ node, side }) => (side === "b" ? node.id : -1)),
  };
}

/** Leaves are told by what they name. */
const leafKey = (node: Node): string =>
  `${node.op}|${nodeName(node)}|${JSON.stringify([node.attrs["tensor"], node.attrs["data"]])}`;

/** What only A has, each behind the last of what it reads and of what stood before it in its part. */
function draftsOf(a: Graph, mates: ReadonlyMap<number, number>): readonly Draft[] {
  const places = new Map<number, number>(mates);
  const lastOfPart = new Map<string, number>();
  const used = usedByRemoved(a, mates);
  const drafts: Draft[] = [];
  let last = -1;
  for (const node of a.nodes) {
    const part = scopeOf(node).join("/");
    const mate = mates.get(node.id);
    if (mate === undefined && (!isLeaf(node) || used.has(node.id))) {
      const reads = node.inputs.map((value) => places.get(value.node) ?? -1);
      const after = Math.max(-1, lastOfPart.get(part) ?? -1, ...(reads.length === 0 ? [last] : reads));
      places.set(node.id, after);
      drafts.push({ node, side: "a", after });
    }
    const at = places.get(node.id);
    if (at === undefined || isLeaf(node)) continue;
    last = at;
    lastOfPart.set(part, Math.max(at, lastOfPart.get(part) ?? -1));
  }
  return drafts;
}

function usedByRemoved(a: Graph, mates: ReadonlyMap<number, number>): ReadonlySet<number> {
  const used = new Set<number>();
  for (const node of a.nodes)
    if (!isLeaf(node) && !mates.has(node.id)) for (const { node: from } of node.inputs) used.add(from);
  return used;
}

/** What ops of B read of what is removed, as their mates of A did; where it stands before them. */
function readersOfRemoved(
  a: Graph,
  mates: ReadonlyMap<number, number>,
  ofA: ReadonlyMap<number, number>,
): ReadonlyMap<number, readonly Value[]> {
  const readers = new Map<number, Value[]>();
  for (const node of a.nodes) {
    const at = mates.has(node.id) && !isLeaf(node) ? (ofA.get(node.id) ?? -1) : -1;
    for (const value of at < 0 ? [] : node.inputs) {
      const from = mates.has(value.node) ? -1 : (ofA.get(value.node) ?? -1);
      if (from < 0 || from >= at) continue;
      const list = readers.get(at) ?? [];
      readers.set(at, list);
      list.push({ ...value, node: from as NodeId });
    }
  }
  return readers;
}
