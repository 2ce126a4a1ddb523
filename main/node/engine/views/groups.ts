/**
 * The tree that a graph folds into: model → blocks ×N → block → part, read from the scopes that the model builders set
 * ("blk.7/attention"). Equal blocks get equal structure numbers: same ops, attributes, types and wiring.
 */
import type { GROUP_KINDS } from "../../../contract/views/graph.ts";
import type { Graph, Node } from "../../../ir/graph.ts";
import { hashText } from "../../../ir/hash.ts";
import { formatType } from "../../../ir/type.ts";

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

/** The scope all origins of a node share: a node fused from two parts belongs to what holds both. */
export function scopeOf(node: Node): readonly string[] {
  let shared: readonly string[] | undefined;
  for (const origin of node.origins) {
    const path = origin.scope === "" ? [] : origin.scope.split("/");
    if (shared === undefined) shared = path;
    else {
      const end = shared.findIndex((part, i) => part !== path[i]);
      shared = end < 0 ? shared : shared.slice(0, end);
    }
  }
  return shared ?? [];
}

export function groupTree(graph: Graph): GroupTree {
  const groups: Group[] = [
    { name: graph.name, parent: -1, kind: "model", structure: 0, firstNode: 0, nodeCount: 0, note: "" },
  ];
  const byPath = new Map<string, number>();
  const open = (parent: number, name: string, kind: Group["kind"]): number => {
    const key = `${parent}/${name}`;
    const known = byPath.get(key);
    if (known !== undefined) return known;
    groups.push({ name, parent, kind, structure: 0, firstNode: -1, nodeCount: 0, note: "" });
    byPath.set(key, groups.length - 1);
    return groups.length - 1;
  };
  const of = new Uint32Array(graph.nodes.length);
  for (const node of graph.nodes) {
    let at = 0;
    scopeOf(node).forEach((part, depth) => {
      if (depth === 0 && BLOCK.test(part)) at = open(open(0, "blocks", "repeat"), part, "block");
      else at = open(at, part, "part");
    });
    of[node.id] = at;
    for (let g = at; g >= 0; g = groups[g]?.parent ?? -1) {
      const group = groups[g];
      if (!group) break;
      if (group.firstNode < 0) group.firstNode = node.id;
      group.nodeCount++;
    }
  }
  numberStructures(graph, groups, of);
  return { groups, of };
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

function numberStructures(graph: Graph, groups: readonly Group[], of: Uint32Array): void {
  const numbers = new Map<string, number>();
  for (const [index, nodes] of members(groups, of)) {
    const group = groups[index];
    if (!group || group.kind === "repeat") continue;
    const hash = hashText(structureText(graph, nodes));
    const known = numbers.get(hash) ?? numbers.size + 1;
    numbers.set(hash, known);
    group.structure = known;
  }
}

/** Names of tensors and files differ from block to block and say nothing of structure. */
const NAMING = new Set(["name", "file", "tensor", "data"]);

function structureText(graph: Graph, nodes: readonly number[]): string {
  const local = new Map(nodes.map((id, i) => [id, i]));
  const outside = new Map<string, number>();
  return nodes
    .map((id) => {
      const node = graph.nodes[id];
      if (!node) return "";
      const inputs = node.inputs.map((value) => {
        const inside = local.get(value.node);
        if (inside !== undefined) return `${inside}.${value.output}`;
        const key = `${value.node}.${value.output}`;
        const at = outside.get(key) ?? outside.size;
        outside.set(key, at);
        return `x${at}`;
      });
      const attrs = Object.entries(node.attrs).filter(([key]) => !NAMING.has(key));
      return `${node.op}(${inputs.join(",")})${JSON.stringify(attrs)}${node.outputs.map(formatType).join(",")}`;
    })
    .join("\n");
}
