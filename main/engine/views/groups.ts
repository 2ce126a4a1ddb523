/**
 * The tree that a graph folds into: model → blocks ×N → block → part → op, read from the scopes that the model builders set
 * ("blk.7/attention"). An op of the model that became several is a group of its own. Equal blocks get equal structure numbers:
 * same ops, attributes, types and wiring.
 */
import type { GROUP_KINDS } from "../../contract/views/graph.ts";
import type { AttrRecord } from "../../ir/attributes.ts";
import { attrsText } from "../../ir/attributes.ts";
import type { Graph, Node } from "../../ir/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import { scopeOf } from "../../ir/nodePlace.ts";
import { Numbering, Sequences } from "../../ir/numbering.ts";
import { each } from "../../ir/steps.ts";
import type { Steps } from "../../ir/steps.ts";
import { graphHash } from "../../ir/hash.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType } from "../../ir/type.ts";

export interface Group {
  readonly name: string;
  readonly parent: number;
  readonly kind: (typeof GROUP_KINDS)[number];
  structure: number;
  firstNode: number;
  nodeCount: number;
  note: string;
}

export interface GroupTree {
  readonly groups: readonly Group[];
  /** Group index of each node. */
  readonly of: Uint32Array;
}

const BLOCK = /^blk\.\d+$/;

const trees = new WeakMap<Graph, GroupTree>();

/** Nodes between two pauses. */
const SLICE = 512;

export function* groupTree(graph: Graph): Steps<GroupTree> {
  const made = trees.get(graph);
  if (made !== undefined) return made;
  const groups: Group[] = [
    { name: graph.name, parent: -1, kind: "model", structure: 0, firstNode: 0, nodeCount: 0, note: "" },
  ];
  const byPath = new Map<string, number>();
  const open = (parent: number, name: string, kind: Group["kind"], key = `${parent}/${name}`): number => {
    const known = byPath.get(key);
    if (known !== undefined) return known;
    groups.push({ name, parent, kind, structure: 0, firstNode: -1, nodeCount: 0, note: "" });
    byPath.set(key, groups.length - 1);
    return groups.length - 1;
  };
  const groupOf = (scope: readonly string[]): number => {
    let at = 0;
    scope.forEach((part, depth) => {
      if (depth === 0 && BLOCK.test(part)) at = open(open(0, "blocks", "repeat"), part, "block");
      else at = open(at, part, "part");
    });
    return at;
  };
  /** Groups of nodes with one origin, by its scope: nearly all of them. */
  const known = new Map<string, number>();
  const parts = partsOfSources(graph);
  const placeOf = (node: Node): number => {
    const [only] = node.origins;
    if (only === undefined || node.origins.length > 1) return groupOf(scopeOf(node));
    const at = known.get(only.scope) ?? groupOf(scopeOf(node));
    known.set(only.scope, at);
    if ((parts.get(only.source) ?? 0) < FEWEST_PARTS) return at;
    return open(at, only.label, "op", `${at}/${only.source}`);
  };
  const of = new Uint32Array(graph.nodes.length);
  yield* each(graph.nodes, SLICE, (node) => {
    const at = placeOf(node);
    of[node.id] = at;
    for (let g = at; g >= 0; g = groups[g]?.parent ?? -1) {
      const group = groups[g];
      if (!group) break;
      if (group.firstNode < 0) group.firstNode = node.id;
      group.nodeCount++;
    }
  });
  yield* numberStructures(graph, groups, of);
  const tree = { groups, of };
  trees.set(graph, tree);
  return tree;
}

/** Fewer ops that came from one are not worth a box around them. */
const FEWEST_PARTS = 3;

/** How many ops stand for each op of the model alone; an op that stands for several belongs to none of them. */
function partsOfSources(graph: Graph): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const node of graph.nodes) {
    const [only] = node.origins;
    if (only === undefined || node.origins.length > 1 || isLeaf(node)) continue;
    counts.set(only.source, (counts.get(only.source) ?? 0) + 1);
  }
  return counts;
}

/** Nodes of each block or part, descendants included. */
function members(groups: readonly Group[], of: Uint32Array): Map<number, number[]> {
  const lists = new Map<number, number[]>();
  of.forEach((own, node) => {
    for (let g = own; g > 0; g = groups[g]?.parent ?? -1) {
      const list = lists.get(g);
      if (list) list.push(node);
      else lists.set(g, [node]);
    }
  });
  return lists;
}

function* numberStructures(graph: Graph, groups: readonly Group[], of: Uint32Array): Steps<void> {
  const kinds = yield* nodeKinds(graph);
  const sequences = new Sequences();
  const local = new Int32Array(graph.nodes.length);
  const numbers = new Map<number, number>();
  let done = 0;
  for (const [index, nodes] of members(groups, of)) {
    const group = groups[index];
    if (!group || group.kind === "repeat") continue;
    const structure = structureOf(graph, nodes, kinds, sequences, local);
    const known = numbers.get(structure) ?? numbers.size + 1;
    numbers.set(structure, known);
    group.structure = known;
    done += nodes.length;
    if (done < SLICE) continue;
    done = 0;
    yield;
  }
}

/** Names of tensors and files differ from block to block and say nothing of structure. */
const NAMING = new Set(["name", "file", "tensor", "data"]);

/** For each node a number: equal for equal op, attributes, types and count of operands. */
function* nodeKinds(graph: Graph): Steps<Uint32Array> {
  const texts = new Numbering<string>();
  const types = new Numbering<string>();
  const typeNumbers = new Map<TensorType, number>();
  const typeNumber = (type: TensorType): number => {
    const number = typeNumbers.get(type) ?? types.of(formatType(type));
    typeNumbers.set(type, number);
    return number;
  };
  const attrTexts = new Map<AttrRecord, string>();
  const textOf = (attrs: AttrRecord): string => {
    const text = attrTexts.get(attrs) ?? telling(attrs);
    attrTexts.set(attrs, text);
    return text;
  };
  const kinds = new Uint32Array(graph.nodes.length);
  yield* each(graph.nodes, SLICE, (node) => {
    let text = `${node.op}/${node.inputs.length}/${textOf(node.attrs)}`;
    for (const type of node.outputs) text += `,${typeNumber(type)}`;
    for (const region of node.regions) text += `/${graphHash(region)}`;
    kinds[node.id] = texts.of(text) + 1;
  });
  return kinds;
}

/** Attributes without those that only name something. */
function telling(attrs: AttrRecord): string {
  const keys = Object.keys(attrs);
  return keys.some((key) => NAMING.has(key))
    ? attrsText(Object.fromEntries(keys.filter((key) => !NAMING.has(key)).map((key) => [key, attrs[key]])))
    : attrsText(attrs);
}

/** Kinds of the nodes in order, and where their operands come from: a node inside by its place, values of outside by first use. */
function structureOf(
  graph: Graph,
  nodes: readonly number[],
  kinds: Uint32Array,
  sequences: Sequences,
  local: Int32Array,
): number {
  nodes.forEach((id, i) => (local[id] = i + 1));
  const outside = new Map<number, number>();
  let state = 0;
  for (const id of nodes) {
    state = sequences.step(state, kinds[id] ?? 0);
    for (const value of graph.nodes[id]?.inputs ?? []) {
      const inside = local[value.node] ?? 0;
      let symbol = 2 * (inside * 64 + value.output);
      if (inside === 0) {
        const key = value.node * 64 + value.output;
        const at = outside.get(key) ?? outside.size;
        outside.set(key, at);
        symbol = 2 * at + 1;
      }
      state = sequences.step(state, symbol);
    }
  }
  for (const id of nodes) local[id] = 0;
  return state;
}
