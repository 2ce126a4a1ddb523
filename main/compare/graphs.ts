/**
 * Two graphs against each other, op by op. Ops are paired by where they stand in the model (path, name, op), then by structure:
 * within one part the remaining ops of one kind in their order, then what stands at the same place whatever its kind. What is
 * left was added or removed.
 */
import type { Graph, Node } from "../ir/graph.ts";
import { isLeaf } from "../ir/graph.ts";
import { nodeName, scopeOf } from "../ir/nodePlace.ts";
import { formatType } from "../ir/type.ts";

export interface OpPair {
  /** Nodes of the two graphs; null: the other has none for it. */
  readonly a: number | null;
  readonly b: number | null;
}

export interface ComparedOp extends OpPair {
  readonly kind: "added" | "removed" | "changed";
  readonly op: string;
  /** Of the part that it stands in: "blk.3/attention". */
  readonly path: string;
  readonly name: string;
  /** What changed, in a few words: "q4_k[64,64] → q6_k[64,64]". */
  readonly what: string;
}

export interface ComparedGraphs {
  /** Every op of both, in the order of B, removed ones behind. */
  readonly pairs: readonly OpPair[];
  readonly same: number;
  readonly ops: readonly ComparedOp[];
}

interface Placed {
  readonly node: Node;
  readonly path: string;
  readonly name: string;
}

export function compareGraphs(a: Graph, b: Graph): ComparedGraphs {
  if (a === b) {
    const ids = placedOps(a).map(({ node }) => node.id as number);
    return { pairs: ids.map((id) => ({ a: id, b: id })), same: ids.length, ops: [] };
  }
  const [left, right] = [placedOps(a), placedOps(b)];
  const partner = new Map<number, Placed>();
  const taken = new Set<number>();
  // From the surest sign to the weakest.
  const signs: readonly ((op: Placed) => string)[] = [
    ({ path, name, node }) => `${path}|${node.op}|${name}`,
    ({ path, node }) => `${path}|${node.op}`,
    ({ path, name }) => `${path}|${name}`,
  ];
  for (const sign of signs) {
    const waiting = new Map<string, Placed[]>();
    for (const op of left)
      if (!taken.has(op.node.id)) {
        const key = sign(op);
        const list = waiting.get(key);
        if (list === undefined) waiting.set(key, [op]);
        else list.push(op);
      }
    // From behind: taking the first of a long list would move all others.
    for (const list of waiting.values()) list.reverse();
    for (const op of right) {
      if (partner.has(op.node.id)) continue;
      const mate = waiting.get(sign(op))?.pop();
      if (mate === undefined) continue;
      partner.set(op.node.id, mate);
      taken.add(mate.node.id);
    }
  }
  return listed({ a, b }, { left, right, partner, taken });
}

interface Paired {
  readonly left: readonly Placed[];
  readonly right: readonly Placed[];
  readonly partner: ReadonlyMap<number, Placed>;
  readonly taken: ReadonlySet<number>;
}

function listed(
  graphs: { readonly a: Graph; readonly b: Graph },
  { left, right, partner, taken }: Paired,
): ComparedGraphs {
  const pairs: OpPair[] = [];
  const ops: ComparedOp[] = [];
  let same = 0;
  for (const op of right) {
    const mate = partner.get(op.node.id);
    const pair: OpPair = { a: mate?.node.id ?? null, b: op.node.id };
    pairs.push(pair);
    const own = { ...pair, op: op.node.op, path: op.path, name: op.name };
    if (mate === undefined) ops.push({ ...own, kind: "added", what: typesOf(op.node) });
    else {
      const what = changeOf(graphs, mate.node, op.node);
      if (what === "") same++;
      else ops.push({ ...own, kind: "changed", what });
    }
  }
  for (const { node, path, name } of left) {
    if (taken.has(node.id)) continue;
    const pair: OpPair = { a: node.id, b: null };
    pairs.push(pair);
    ops.push({ ...pair, kind: "removed", op: node.op, path, name, what: typesOf(node) });
  }
  return { pairs, same, ops };
}

const placedOps = (graph: Graph): readonly Placed[] =>
  graph.nodes
    .filter((node) => !isLeaf(node))
    .map((node) => ({ node, path: scopeOf(node).join("/"), name: nodeName(node) }));

const typesOf = (node: Node): string => node.outputs.map(formatType).join(", ");

/** Names are no meaning; a constant is told by its hash. */
const attributesOf = ({ attrs }: Node): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(attrs)
      .filter(([key]) => key !== "name")
      .map(([key, value]) => [
        key,
        String(JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? String(one) : one))),
      ]),
  );

const weightsOf = (graph: Graph, { inputs }: Node): readonly string[] =>
  inputs.flatMap(({ node, output }) => {
    const from = graph.nodes[node];
    const type = from?.op === "param" ? from.outputs[output] : undefined;
    return type === undefined ? [] : [formatType(type)];
  });

/** Nothing where both say the same. */
function changeOf({ a, b }: { readonly a: Graph; readonly b: Graph }, mine: Node, other: Node): string {
  const changes: string[] = [];
  const note = (before: string, after: string, name = ""): void => {
    if (before !== after) changes.push(`${name}${before} → ${after}`);
  };
  note(mine.op, other.op);
  note(weightsOf(a, mine).join(", "), weightsOf(b, other).join(", "), "weight ");
  note(typesOf(mine), typesOf(other));
  if (mine.op === other.op) {
    const [before, after] = [attributesOf(mine), attributesOf(other)];
    for (const key of new Set([...before.keys(), ...after.keys()]))
      if (!isAboutTypes(key)) note(before.get(key) ?? "none", after.get(key) ?? "none", `${key} `);
  }
  return changes.join("; ");
}

/** Follows from the types, which are told. */
const isAboutTypes = (key: string): boolean => key === "shape" || key === "type";

/** A path with its block's number taken out, and that number: equal differences of many blocks are one row. */
export function withoutBlock(path: string): { readonly pattern: string; readonly block: number | null } {
  const [, block] = /^blk\.(\d+)(?:\/|$)/u.exec(path) ?? [];
  return block === undefined
    ? { pattern: path, block: null }
    : { pattern: path.replace(/^blk\.\d+/u, "blk.*"), block: Number(block) };
}
