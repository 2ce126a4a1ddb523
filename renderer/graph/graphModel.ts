/**
 * Indices over a graph as it arrived: children of groups in program order, consumers of nodes, what is not drawn as a box.
 * Pure and linear; the window and the layout worker each build their own.
 */
import type { GraphKey, GraphView } from "../../main/contract/views/graph.ts";
import { GROUP_KINDS, NODE_FLAGS } from "../../main/contract/views/graph.ts";
import { kindColumn } from "./opKinds.ts";

/** An item of a group: a node index, or a group as its complement (`~group`, always negative). */
export type ItemCode = number;
export const groupCode = (group: number): ItemCode => ~group;
export const isGroup = (code: ItemCode): boolean => code < 0;

export interface GraphModel {
  readonly view: GraphView;
  /** Items of group g: children[childStart[g] … childStart[g+1]-1]. */
  readonly childStart: Uint32Array;
  readonly children: Int32Array;
  /** Consumers of node n in CSR form. */
  readonly consumerStart: Uint32Array;
  readonly consumers: Uint32Array;
  /** 1: parameters and constants, shown on their consumers instead of as boxes. */
  readonly hidden: Uint8Array;
  /** 1: read from so many places that lines would ruin the picture; drawn as named stubs. */
  readonly shared: Uint8Array;
  /** Numbers of OP_KINDS. */
  readonly kinds: Uint8Array;
}

/** A value with more readers than this is drawn as stubs. */
const MANY_READERS = 5;

export function createGraphModel(view: GraphView): GraphModel {
  const { nodeCount } = view;
  const { childStart, children } = indexChildren(view);
  const { consumerStart, consumers } = indexConsumers(view);
  const hidden = new Uint8Array(nodeCount);
  const shared = new Uint8Array(nodeCount);
  for (let node = 0; node < nodeCount; node++) {
    const flags = view.nodes.flags[node] ?? 0;
    if ((flags & (NODE_FLAGS.param | NODE_FLAGS.constant)) !== 0) hidden[node] = 1;
    const readers = (consumerStart[node + 1] ?? 0) - (consumerStart[node] ?? 0);
    if (readers > MANY_READERS) shared[node] = 1;
  }
  return { view, childStart, children, consumerStart, consumers, hidden, shared, kinds: kindColumn(view) };
}

/** The same graph with other weights: only the bytes that its nodes read are others. */
export function withBytesRead(model: GraphModel, key: GraphKey, bytesRead: Float32Array): GraphModel {
  const { view } = model;
  return { ...model, view: { ...view, key, nodes: { ...view.nodes, bytesRead } } };
}

/** Whether both have the same nodes, edges and groups, so that one picture serves both. */
export const isSameStructure = (a: GraphModel, b: GraphModel): boolean => a.children === b.children;

/** Group children and nodes merged in program order; a group stands where its first node does. */
function indexChildren({ nodeCount, nodes, groups }: GraphView): { childStart: Uint32Array; children: Int32Array } {
  const groupCount = groups.parent.length;
  const parentOf = (group: number): number => groups.parent[group] ?? -1;
  const inside = Array.from({ length: groupCount }, (_, group) => group).filter((group) => {
    const parent = parentOf(group);
    return group > 0 && parent >= 0 && parent < groupCount && parent !== group;
  });
  const firstOf = (group: number): number => groups.firstNode[group] ?? 0;
  inside.sort((a, b) => firstOf(a) - firstOf(b) || b - a);
  const counts = new Uint32Array(groupCount + 1);
  const count = (parent: number): void => {
    counts[parent + 1] = (counts[parent + 1] ?? 0) + 1;
  };
  for (const group of inside) count(parentOf(group));
  for (let node = 0; node < nodeCount; node++) count(nodes.group[node] ?? 0);
  const childStart = prefixSum(counts);
  const next = childStart.slice();
  const children = new Int32Array(inside.length + nodeCount);
  const put = (parent: number, code: ItemCode): void => {
    const at = next[parent] ?? 0;
    children[at] = code;
    next[parent] = at + 1;
  };
  // A group comes before the node that it begins with.
  let waiting = 0;
  const putGroups = (upTo: number): void => {
    for (let group = inside[waiting]; group !== undefined && firstOf(group) <= upTo; group = inside[++waiting])
      put(parentOf(group), groupCode(group));
  };
  for (let node = 0; node < nodeCount; node++) {
    putGroups(node);
    put(nodes.group[node] ?? 0, node);
  }
  putGroups(Infinity);
  return { childStart, children };
}

function indexConsumers(view: GraphView): { consumerStart: Uint32Array; consumers: Uint32Array } {
  const { start, source } = view.edges;
  const counts = new Uint32Array(view.nodeCount + 1);
  for (const from of source) counts[from + 1] = (counts[from + 1] ?? 0) + 1;
  const consumerStart = prefixSum(counts);
  const next = consumerStart.slice();
  const consumers = new Uint32Array(source.length);
  for (let node = 0; node < view.nodeCount; node++)
    for (let edge = start[node] ?? 0; edge < (start[node + 1] ?? 0); edge++) {
      const from = source[edge] ?? 0;
      const at = next[from] ?? 0;
      consumers[at] = node;
      next[from] = at + 1;
    }
  return { consumerStart, consumers };
}

function prefixSum(counts: Uint32Array): Uint32Array {
  const sums = new Uint32Array(counts.length);
  for (let i = 1; i < counts.length; i++) sums[i] = (sums[i - 1] ?? 0) + (counts[i] ?? 0);
  return sums;
}

export function childrenOf(model: GraphModel, group: number): Int32Array {
  return model.children.subarray(model.childStart[group] ?? 0, model.childStart[group + 1] ?? 0);
}

export function consumersOf(model: GraphModel, node: number): Uint32Array {
  return model.consumers.subarray(model.consumerStart[node] ?? 0, model.consumerStart[node + 1] ?? 0);
}

export function producersOf(model: GraphModel, node: number): Uint32Array {
  const { start, source } = model.view.edges;
  return source.subarray(start[node] ?? 0, start[node + 1] ?? 0);
}

const text = (view: GraphView, index: number | undefined): string => view.strings[index ?? 0] ?? "";
export const opName = (view: GraphView, node: number): string => text(view, view.nodes.op[node]);
export const nodeName = (view: GraphView, node: number): string => text(view, view.nodes.name[node]);
export const nodeType = (view: GraphView, node: number): string => text(view, view.nodes.type[node]);
export const nodeWeight = (view: GraphView, node: number): string => text(view, view.nodes.weight[node]);
/** GGUF names its blocks "blk.7"; a person reads "block 7". */
export const displayName = (name: string): string => name.replace(/^blk\.(\d+)$/, "block $1");
/** As the model's builder names it: "blk.7". */
export const groupPart = (view: GraphView, group: number): string => text(view, view.groups.name[group]);
export const groupName = (view: GraphView, group: number): string => displayName(groupPart(view, group));
export const groupWords = (view: GraphView, group: number): string => text(view, view.groups.words[group]);
export const groupNote = (view: GraphView, group: number): string => text(view, view.groups.note[group]);
export const groupKind = (view: GraphView, group: number): (typeof GROUP_KINDS)[number] =>
  GROUP_KINDS[view.groups.kind[group] ?? 0] ?? "part";

/** The groups around a node, from the model down. */
export function pathOf(view: GraphView, node: number): readonly number[] {
  return groupPath(view, view.nodes.group[node] ?? 0);
}

export function groupPath(view: GraphView, group: number): readonly number[] {
  const path: number[] = [];
  for (let at = group; at >= 0 && path.length <= view.groups.parent.length; at = view.groups.parent[at] ?? -1)
    path.unshift(at);
  return path;
}

const LEAVES = NODE_FLAGS.input | NODE_FLAGS.param | NODE_FLAGS.constant | NODE_FLAGS.state;

/** What the window counts as an op: no input, weight, constant or state is one. */
export const isOp = (view: GraphView, node: number): boolean => ((view.nodes.flags[node] ?? 0) & LEAVES) === 0;

/** Ops of a group. */
export function opsOf(model: GraphModel, group: number): number {
  const first = model.view.groups.firstNode[group] ?? 0;
  const end = Math.min(model.view.nodeCount, first + (model.view.groups.nodeCount[group] ?? 0));
  let n = 0;
  for (let node = first; node < end; node++) if (isOp(model.view, node)) n += 1;
  return n;
}
