/** Whether a backend can run a node, and why: a question that never throws and needs nothing compiled. */
import type { AttrRecord } from "../ir/attributes.ts";
import type { Graph, Node } from "../ir/graph.ts";
import { isLeaf } from "../ir/graph.ts";
import { NodeKinds } from "../ir/nodeKinds.ts";
import type { AnyNumber, AnyOp, Backend, Decomposition } from "../ops/defineOp.ts";
import { nodeInfo } from "../ops/expand.ts";
import { opOf } from "../ops/index.ts";

export type SupportState = "native" | "decomposed" | "unsupported" | "undeclared";
type Via = Decomposition<AttrRecord, AnyNumber>;

export type Support =
  | { readonly state: "native"; readonly reason: string }
  /** `reason` says why it is not native, where the op has a native entry that refused this node. */
  | { readonly state: "decomposed"; readonly reason: string; readonly via: Via }
  | { readonly state: "unsupported" | "undeclared"; readonly reason: string };

/**
 * prefer-native: a native rule where there is one · force-common: the parts, wherever an op has any ·
 * force-native: an op without a native rule is not supported.
 */
export const DISPATCH_POLICIES = ["prefer-native", "force-common", "force-native"] as const;
export type DispatchPolicy = (typeof DISPATCH_POLICIES)[number];

/** Any decomposition the op has: they all mean the same (a test checks it). */
export function anyDecomposition(op: AnyOp): Via | undefined {
  const entries = [op.gradient, op.batching, ...Object.values(op.backends)];
  for (const entry of entries) if (entry?.kind === "decompose") return entry.via;
  return undefined;
}

export function supportOf(
  graph: Graph,
  node: Node,
  backend: Backend,
  policy: DispatchPolicy = "prefer-native",
): Support {
  const support = withRegions(node, preferredSupport(graph, node, backend), backend, policy);
  if (policy === "force-native" && support.state === "decomposed")
    return { state: "unsupported", reason: `native rules are forced, and ${support.reason}` };
  if (policy !== "force-common" || support.state !== "native") return support;
  const op = opOf(node.op);
  const via = op === undefined ? undefined : anyDecomposition(op);
  return via === undefined ? support : { state: "decomposed", reason: "common rules are forced", via };
}

/** A node runs natively only where all that its sub-graphs hold can run, too. */
function withRegions(node: Node, support: Support, backend: Backend, policy: DispatchPolicy): Support {
  if (support.state !== "native") return support;
  for (const [i, region] of node.regions.entries())
    for (const inner of region.nodes) {
      const { state, reason } = supportOf(region, inner, backend, policy);
      if (state === "unsupported" || state === "undeclared")
        return { state, reason: `its sub-graph ${regionName(node, i)} holds ${inner.op}: ${reason}` };
    }
  return support;
}

export const regionName = (node: Node, index: number): string => opOf(node.op)?.regionNames[index] ?? String(index);

/** The same answers for many nodes: of those that are alike, only the first is asked about. */
export function supportsOf(
  backend: Backend,
  policy: DispatchPolicy = "prefer-native",
): (graph: Graph, node: Node) => Support {
  const known = new Map<number, Support>();
  const kinds = new NodeKinds();
  return (graph, node) => {
    if (isLeaf(node) || node.regions.length > 0) return supportOf(graph, node, backend, policy);
    const kind = kinds.of(graph, node);
    const before = known.get(kind);
    if (before !== undefined) return before;
    const support = supportOf(graph, node, backend, policy);
    known.set(kind, support);
    return support;
  };
}

function preferredSupport(graph: Graph, node: Node, backend: Backend): Support {
  if (isLeaf(node)) return { state: "native", reason: "a leaf: data, not work" };
  const op = opOf(node.op);
  if (!op) return { state: "unsupported", reason: `there is no op ${node.op}` };
  const entry = op.backends[backend];
  if (!entry) return { state: "undeclared", reason: `${node.op} says nothing about ${backend}, which is experimental` };
  if (entry.kind === "unsupported") return { state: "unsupported", reason: entry.reason };
  const info = nodeInfo(graph, node);
  const answer = entry.when?.(info) ?? true;
  if (entry.kind === "decompose")
    return answer === true
      ? { state: "decomposed", reason: entry.note ?? `${backend} runs ${node.op} as its parts`, via: entry.via }
      : { state: "unsupported", reason: answer };
  if (answer === true)
    return { state: "native", reason: `${backend} runs ${entry.how?.(info) ?? `${node.op} itself`}` };
  const via = anyDecomposition(op);
  return via ? { state: "decomposed", reason: answer, via } : { state: "unsupported", reason: answer };
}
