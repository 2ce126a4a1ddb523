/**
 * Turns a graph into one that a backend runs node by node: what it has no native rule for is replaced by its parts, and
 * what is left without one is reported, with the reason. Nothing falls back in silence: the caller decides whether to
 * refuse, or to cut the graph into segments.
 */
import { WorkbenchError, invariant, throwIfCancelled } from "../diagnostics/errors.ts";
import { attrsText } from "../ir/attributes.ts";
import { GraphBuilder } from "../ir/builder.ts";
import { isPacked } from "../ir/dtype.ts";
import type { Graph, Node, NodeId, Value } from "../ir/graph.ts";
import { isLeaf } from "../ir/graph.ts";
import { graphHash } from "../ir/hash.ts";
import { mapRegions } from "../ir/nested.ts";
import { rewrite } from "../ir/rewrite.ts";
import { each, finish } from "../ir/steps.ts";
import type { Steps } from "../ir/steps.ts";
import { formatType } from "../ir/type.ts";
import type { Backend } from "../ops/defineOp.ts";
import { opBuilder, opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import type { DispatchPolicy, Support, SupportState } from "./support.ts";
import { nodeInfo } from "../ops/expand.ts";
import { regionName, supportOf, supportsOf } from "./support.ts";

/** One node of the graph that was given; leaves are left out. */
export interface DispatchEntry {
  readonly node: NodeId;
  readonly op: string;
  /** native: runs as it is · decomposed: runs as its parts · unsupported: it, or a part of it, cannot run. */
  readonly state: SupportState;
  readonly reason: string;
  /** Ops that run in its place, in order; itself when native, nothing when it cannot run. */
  readonly parts: readonly string[];
  /** For nodes with sub-graphs: what becomes of theirs. Not counted with the graph's own. */
  readonly inside?: readonly { readonly region: string; readonly entries: readonly DispatchEntry[] }[];
}

export interface DispatchReport {
  readonly backend: Backend;
  readonly entries: readonly DispatchEntry[];
  readonly counts: Readonly<Record<SupportState, number>>;
}

export interface Legalised {
  readonly graph: Graph;
  /** Of the graph that was given; made when it is asked for. */
  readonly report: DispatchReport;
  /** Nodes of the legal graph that the backend cannot run, with the reason. */
  readonly blocked: ReadonlyMap<NodeId, string>;
}

/** Decompositions of decompositions end soon; a cycle in the op table must not hang. */
const DEEPEST = 16;

const tooDeep = (backend: Backend): WorkbenchError =>
  new WorkbenchError("BUG_INVARIANT", `[legalise] decompositions for ${backend} do not end after ${DEEPEST} rounds`);

const isList = (values: Value | readonly Value[]): values is readonly Value[] => Array.isArray(values);

function partsOf(g: OpBuilder, graph: Graph, node: Node, inputs: readonly Value[], support: Support): readonly Value[] {
  invariant(support.state === "decomposed", `${node.op} has no parts`);
  const values = support.via(g, inputs, node.attrs, nodeInfo(graph, node));
  return isList(values) ? values : [values];
}

/** Nodes between two pauses. */
const SLICE = 512;

export function* legalise(
  graph: Graph,
  backend: Backend,
  signal?: AbortSignal,
  policy: DispatchPolicy = "prefer-native",
): Steps<Legalised> {
  const supports = supportsOf(backend, policy);
  let current = graph;
  /** Of the last walk, which changes nothing. */
  let blocked = new Map<NodeId, string>();
  for (let depth = 0; ; depth++) {
    throwIfCancelled(signal);
    const before = current;
    blocked = new Map();
    const walk = rewrite(opTable, before, `legalise for ${backend}`, (node, map, replace) => {
      if (isLeaf(node)) return undefined;
      const support = supports(before, node);
      if (support.state === "native") return undefined;
      if (support.state !== "decomposed") {
        blocked.set(node.id, support.reason);
        return undefined;
      }
      return partsOf(opBuilder(replace()), before, node, node.inputs.map(map), support);
    });
    const { graph: after, changed } = yield* walk;
    if (changed === 0) break;
    if (depth >= DEEPEST) throw tooDeep(backend);
    current = after;
  }
  const inner = legalRegions(current, backend, signal, policy);
  if (inner.graph !== current) blocked = yield* blockedIn(inner.graph, supports);
  current = inner.graph;
  for (const node of current.nodes) {
    const stuck = node.regions.length === 0 ? undefined : inner.stuckIn(node);
    if (stuck !== undefined && !blocked.has(node.id)) blocked.set(node.id, stuck);
  }
  let report: DispatchReport | undefined;
  return {
    graph: current,
    blocked,
    get report() {
      return (report ??= finish(dispatchReport(graph, backend, policy)));
    },
  };
}

function* blockedIn(graph: Graph, supports: (graph: Graph, node: Node) => Support): Steps<Map<NodeId, string>> {
  const blocked = new Map<NodeId, string>();
  yield* each(graph.nodes, SLICE, (node) => {
    const support = isLeaf(node) ? undefined : supports(graph, node);
    if (support !== undefined && support.state !== "native") blocked.set(node.id, support.reason);
  });
  return blocked;
}

/** The sub-graphs of all nodes made legal; one that cannot run stays as it is, and its node with it. */
function legalRegions(
  graph: Graph,
  backend: Backend,
  signal: AbortSignal | undefined,
  policy: DispatchPolicy,
): { readonly graph: Graph; readonly stuckIn: (node: Node) => string | undefined } {
  const stuck = new Map<Graph, string>();
  const { graph: legal } = mapRegions(opTable, graph, `legalise for ${backend}`, (region, node, index) => {
    const { graph: inside, blocked } = finish(legalise(region, backend, signal, policy));
    const [first] = blocked;
    if (first === undefined) return inside;
    const [id, reason] = first;
    stuck.set(region, `its sub-graph ${regionName(node, index)} holds ${inside.nodes[id]?.op ?? "?"}: ${reason}`);
    return region;
  });
  const stuckIn = (node: Node): string | undefined =>
    node.regions.map((region) => stuck.get(region)).find((reason) => reason !== undefined);
  return { graph: legal, stuckIn };
}

/** The report alone: what would become of each node, without making the legal graph. Works for any backend, anywhere. */
export function* dispatchReport(
  graph: Graph,
  backend: Backend,
  policy: DispatchPolicy = "prefer-native",
): Steps<DispatchReport> {
  const asked: Asked = { backend, policy, known: new Map() };
  const entries: DispatchEntry[] = [];
  const counts = { native: 0, decomposed: 0, unsupported: 0, undeclared: 0 };
  for (const node of graph.nodes) {
    if (node.id % SLICE === 0) yield;
    if (isLeaf(node)) continue;
    const entry = { node: node.id, op: node.op, ...fateOf(graph, node, asked, 0) };
    entries.push(entry);
    counts[entry.state]++;
  }
  return { backend, entries, counts };
}

type Fate = Pick<DispatchEntry, "state" | "reason" | "parts" | "inside">;

/** Options for dispatchReport, and entries already computed. */
interface Asked {
  readonly backend: Backend;
  readonly policy: DispatchPolicy;
  readonly known: Map<string, Fate>;
}

/** Nodes of one op, attributes and types share their fate: a model has few kinds of nodes. */
function fateOf(graph: Graph, node: Node, asked: Asked, depth: number): Fate {
  const { backend, policy, known } = asked;
  const info = nodeInfo(graph, node);
  const key = `${node.op} ${attrsText(node.attrs)} ${info.inputs.map(formatType).join(" ")} ${node.regions.map(graphHash).join(" ")}`;
  const before = known.get(key);
  if (before) return before;
  const support = supportOf(graph, node, backend, policy);
  const fate: Fate =
    support.state === "decomposed" ? decomposedFate(graph, node, asked, support, depth) : ownFate(node, asked, support);
  known.set(key, fate);
  return fate;
}

/** Of a node that runs as it is or not at all; with sub-graphs, what becomes of their nodes decides. */
function ownFate(node: Node, { backend, policy }: Asked, { state, reason }: Support): Fate {
  const inside = node.regions.map((region, i) => ({
    region: regionName(node, i),
    entries: finish(dispatchReport(region, backend, policy)).entries,
  }));
  const nested = inside.length === 0 ? {} : { inside };
  if (state !== "native") return { state, reason, parts: [], ...nested };
  for (const { region, entries } of inside) {
    const stuck = entries.find((entry) => entry.state === "unsupported" || entry.state === "undeclared");
    if (stuck)
      return {
        state: stuck.state,
        reason: `its sub-graph ${region} holds ${stuck.op}: ${stuck.reason}`,
        parts: [],
        ...nested,
      };
  }
  return { state, reason, parts: [node.op], ...nested };
}

/** Takes one node apart in a graph of its own, and its parts in turn. */
function decomposedFate(graph: Graph, node: Node, asked: Asked, support: Support, depth: number): Fate {
  if (depth >= DEEPEST) throw tooDeep(asked.backend);
  const builder = new GraphBuilder(opTable, node.op);
  const operands = nodeInfo(graph, node).inputs.map((type, i) =>
    isPacked(type.dtype) ? builder.param(`x${i}`, type, { file: "", tensor: `x${i}` }) : builder.input(`x${i}`, type),
  );
  partsOf(typedBuilder(builder), graph, node, operands, support);
  const parts = builder.finish();
  const fates = parts.nodes
    .filter((part) => !isLeaf(part))
    .map((part) => ({ op: part.op, ...fateOf(parts, part, asked, depth + 1) }));
  const stuck = fates.find((fate) => fate.state === "unsupported" || fate.state === "undeclared");
  return stuck
    ? { state: stuck.state, reason: `its part ${stuck.op}: ${stuck.reason}`, parts: [] }
    : { state: "decomposed", reason: support.reason, parts: fates.flatMap((fate) => fate.parts) };
}

/** One line per op and state with its count, and one per reason that something cannot run: for logs and the terminal. */
export function formatReport(report: DispatchReport): string {
  const lines = new Map<string, { count: number; reason: string }>();
  for (const entry of report.entries) {
    const text = `${entry.state.padEnd(11)} ${entry.op}`;
    const line = lines.get(text) ?? { count: 0, reason: entry.reason };
    line.count++;
    lines.set(text, line);
  }
  const rows = [...lines].sort(([a], [b]) => (a < b ? -1 : 1));
  const { native, decomposed, unsupported, undeclared } = report.counts;
  return [
    `dispatch for ${report.backend}: ${native} native, ${decomposed} decomposed, ${unsupported} unsupported, ${undeclared} undeclared`,
    ...rows.map(([text, { count, reason }]) => `  ${String(count).padStart(6)} ${text}: ${reason}`),
  ].join("\n");
}
