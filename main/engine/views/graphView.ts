/** A graph as the window gets it: flat columns over node indices, one string table, the tree of groups. */
import type { GraphKey, GraphView } from "../../contract/views/graph.ts";
import { GROUP_KINDS, ID_SLOTS, NODE_FLAGS } from "../../contract/views/graph.ts";
import { isPacked } from "../../ir/dtype.ts";
import type { Graph, Node } from "../../ir/graph.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { HeldBytes } from "../../ir/heldBytes.ts";
import { nodeName } from "../../ir/nodePlace.ts";
import type { OpTable } from "../../ir/opTable.ts";
import { each } from "../../ir/steps.ts";
import type { Steps } from "../../ir/steps.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType } from "../../ir/type.ts";
import type { Group, GroupTree } from "./groups.ts";
import { groupTree } from "./groups.ts";
import { groupWords } from "./groupWords.ts";
import { MovedBytes } from "../../compiler/cost/movedBytes.ts";
import { StringTable } from "./strings.ts";

/**
 * An id that survives passes: the first operation of the model that a node stands for, and a count where several
 * nodes stand for the same one. ID_SLOTS nodes per operation are room enough for any decomposition.
 */
export function stableIds(graph: Graph): Uint32Array {
  const known = idsOf.get(graph) ?? countedIds(graph);
  idsOf.set(graph, known);
  return known;
}

const idsOf = new WeakMap<Graph, Uint32Array>();

function countedIds(graph: Graph): Uint32Array {
  const used = new Map<number, number>();
  return Uint32Array.from(graph.nodes, (node) => {
    const source = node.origins[0]?.source ?? node.id;
    const nth = used.get(source) ?? 0;
    used.set(source, nth + 1);
    return source * ID_SLOTS + Math.min(nth, ID_SLOTS - 1);
  });
}

function flagsOf(graph: Graph, table: OpTable): Uint8Array {
  const flags = new Uint8Array(graph.nodes.length);
  const set = (id: number, flag: number): void => {
    flags[id] = (flags[id] ?? 0) | flag;
  };
  for (const node of graph.nodes) {
    if (node.op === "input") set(node.id, NODE_FLAGS.input);
    if (node.op === "param") set(node.id, NODE_FLAGS.param);
    if (node.op === "constant") set(node.id, NODE_FLAGS.constant);
    if (node.op === "state") set(node.id, NODE_FLAGS.state);
    const traits = table.get(node.op)?.traits ?? [];
    if (traits.includes("fused")) set(node.id, NODE_FLAGS.fused);
    if (traits.includes("view")) set(node.id, NODE_FLAGS.view);
  }
  for (const { output } of graph.states)
    if (output.output === 0 && graph.nodes[output.node]?.op !== "state") set(output.node, NODE_FLAGS.nextState);
  for (const output of graph.outputs) set(output.value.node, NODE_FLAGS.output);
  return flags;
}

/** Nodes between two pauses. */
const SLICE = 2048;

/** Text and bytes of types, each type once: nodes share them. */
class TypeTable {
  readonly #known = new Map<TensorType, { readonly text: number; readonly bytes: number }>();
  readonly #strings: StringTable;
  readonly #moved: MovedBytes;

  constructor(strings: StringTable, moved: MovedBytes) {
    this.#strings = strings;
    this.#moved = moved;
  }

  of(type: TensorType): { readonly text: number; readonly bytes: number } {
    const known = this.#known.get(type);
    if (known !== undefined) return known;
    const made = { text: this.#strings.add(formatType(type)), bytes: this.#moved.value(type) };
    this.#known.set(type, made);
    return made;
  }
}

export interface GraphViewInput {
  readonly key: GraphKey;
  readonly graph: Graph;
  readonly table: OpTable;
  readonly bindings: Bindings;
  readonly held: HeldBytes;
}

export function* graphView({ key, graph, table, bindings, held }: GraphViewInput): Steps<GraphView> {
  const strings = new StringTable();
  const moved = new MovedBytes(graph, bindings, held);
  const types = new TypeTable(strings, moved);
  const nodes = graph.nodes;
  const tree = yield* groupTree(graph);
  const start = new Uint32Array(nodes.length + 1);
  const edgeCount = nodes.reduce((n, node) => n + node.inputs.length, 0);
  const source = new Uint32Array(edgeCount);
  const output = new Uint8Array(edgeCount);
  const type = new Uint32Array(edgeCount);
  const bytes = new Float32Array(edgeCount);
  let edge = 0;
  yield* each(nodes, SLICE, (node) => {
    start[node.id] = edge;
    for (const value of node.inputs) {
      const valueType = nodes[value.node]?.outputs[value.output];
      const known = valueType === undefined ? undefined : types.of(valueType);
      source[edge] = value.node;
      output[edge] = value.output;
      type[edge] = known?.text ?? 0;
      bytes[edge] = known?.bytes ?? 0;
      edge++;
    }
  });
  start[nodes.length] = edge;
  function* column(of: (node: Node) => number): Steps<Uint32Array> {
    const values = new Uint32Array(nodes.length);
    yield* each(nodes, SLICE, (node) => (values[node.id] = of(node)));
    return values;
  }
  const bytesRead = new Float32Array(nodes.length);
  yield* each(nodes, SLICE, (node) => (bytesRead[node.id] = moved.read(node)));
  const columns = {
    // A copy: what is sent may be handed over.
    id: stableIds(graph).slice(),
    op: yield* column((node) => strings.add(node.op)),
    name: yield* column((node) => strings.add(nodeName(node))),
    type: yield* column((node) => (node.outputs[0] ? types.of(node.outputs[0]).text : 0)),
    weight: yield* column((node) => strings.add(packedWeight(graph, node))),
    group: tree.of,
    flags: flagsOf(graph, table),
    bytesRead,
  };
  yield;
  const { groups } = tree;
  const notes = differenceNotes(graph, tree);
  return {
    key,
    title: graph.name,
    nodeCount: nodes.length,
    edgeCount,
    nodes: columns,
    edges: { start, source, output, type, bytes },
    groups: {
      parent: Int32Array.from(groups, (g) => g.parent),
      kind: Uint8Array.from(groups, (g) => GROUP_KINDS.indexOf(g.kind)),
      name: Uint32Array.from(groups, (g) => strings.add(g.name)),
      structure: Uint32Array.from(groups, (g) => g.structure),
      firstNode: Uint32Array.from(groups, (g) => Math.max(g.firstNode, 0)),
      nodeCount: Uint32Array.from(groups, (g) => g.nodeCount),
      note: Uint32Array.from(notes, (note) => strings.add(note)),
      words: Uint32Array.from(groupWords(graph, tree), (words) => strings.add(words)),
    },
    strings: strings.strings,
  };
}

/** The types of the weights a node reads ("q4_k + q6_k"), or "". */
function packedWeight(graph: Graph, node: Node): string {
  if (node.op === "param") return node.outputs[0]?.dtype ?? "";
  const types = new Set<string>();
  for (const value of node.inputs) {
    const from = graph.nodes[value.node];
    const dtype = from?.op === "param" ? from.outputs[0]?.dtype : undefined;
    if (dtype !== undefined && (isPacked(dtype) || (from?.outputs[0]?.shape.length ?? 0) > 1)) types.add(dtype);
  }
  return [...types].join(" + ");
}

/** For each block unlike most of its siblings what differs, by its weight types; "" for all other groups. */
function differenceNotes(graph: Graph, { groups, of }: GroupTree): readonly string[] {
  const blocksOf = new Map<number, Group[]>();
  for (const group of groups) {
    if (group.kind !== "block") continue;
    const siblings = blocksOf.get(group.parent) ?? [];
    blocksOf.set(group.parent, siblings);
    siblings.push(group);
  }
  const usualOf = new Map([...blocksOf].map(([parent, blocks]) => [parent, usualBlock(blocks)]));
  return groups.map((group) => {
    const usual = group.kind === "block" ? usualOf.get(group.parent) : undefined;
    if (usual === undefined || usual.structure === group.structure) return "";
    const mine = weightTypes(graph, of, group.firstNode, group.nodeCount);
    const theirs = weightTypes(graph, of, usual.firstNode, usual.nodeCount);
    const differing = [...mine].filter(([label, dtype]) => theirs.get(label) !== dtype);
    if (differing.length === 0) return "other structure";
    return differing
      .slice(0, 3)
      .map(([label, dtype]) => `${label} is ${dtype}`)
      .join(", ");
  });
}

/** The first of the blocks that most are like. */
function usualBlock(blocks: readonly Group[]): Group | undefined {
  const counts = new Map<number, number>();
  for (const { structure } of blocks) counts.set(structure, (counts.get(structure) ?? 0) + 1);
  const [common] = [...counts].sort((a, b) => b[1] - a[1]);
  return blocks.find((block) => block.structure === common?.[0]);
}

function weightTypes(graph: Graph, of: Uint32Array, first: number, count: number): Map<string, string> {
  const types = new Map<string, string>();
  for (let id = first; id < Math.min(first + count, of.length); id++) {
    const node = graph.nodes[id];
    const name = node?.attrs["name"];
    if (node?.op === "param" && typeof name === "string")
      types.set(name.replace(/^blk\.\d+\./, "").replace(/\.weight$/, ""), node.outputs[0]?.dtype ?? "");
  }
  return types;
}
