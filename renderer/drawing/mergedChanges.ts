/** The changes of two merged graphs as the drawing marks them, and as a list to walk: equal ones of several blocks are one entry. */
import type { MergedGraph } from "../../main/contract/views/compare.ts";
import { CHANGE_KINDS } from "../../main/contract/views/compare.ts";
import type { GraphModel } from "../graph/graphModel.ts";
import { groupName, groupPath, nodeName, opName } from "../graph/graphModel.ts";
import type { ChangeKind, Changes } from "./changes.ts";

const kindAt = ({ kind }: Pick<MergedGraph, "kind">, node: number): ChangeKind | null => {
  const name = CHANGE_KINDS[kind[node] ?? 0] ?? "same";
  return name === "same" ? null : name;
};

export function mergedChanges(model: GraphModel, merged: Pick<MergedGraph, "kind">): Changes {
  const nodes = new Map<number, ChangeKind>();
  const counts = { added: 0, removed: 0, changed: 0 };
  const regions: number[] = [];
  let group = -1;
  for (let node = 0; node < model.view.nodeCount; node++) {
    const kind = model.hidden[node] === 1 ? null : kindAt(merged, node);
    if (kind === null) continue;
    nodes.set(node, kind);
    counts[kind]++;
    const own = model.view.nodes.group[node] ?? 0;
    if (own !== group) regions.push(node);
    group = own;
  }
  return { nodes, regions, counts };
}

export interface ListedChange {
  readonly kind: ChangeKind;
  /** The first of its ops. */
  readonly node: number;
  readonly op: string;
  readonly name: string;
  /** Groups around it, from the outermost. */
  readonly place: string;
  /** Ops that differ so in the same part of different blocks. */
  readonly count: number;
}

/** In the order of the program. */
export function listedChanges(model: GraphModel, { nodes }: Pick<Changes, "nodes">): readonly ListedChange[] {
  const { view } = model;
  const entries = new Map<string, ListedChange>();
  for (const [node, kind] of nodes) {
    const path = groupPath(view, view.nodes.group[node] ?? 0).filter((group) => group > 0);
    const [op, name] = [opName(view, node), nodeName(view, node)];
    const names = path.map((group) => groupName(view, group));
    const key = [kind, op, name, ...names.map((part) => part.replace(/\d+$/u, ""))].join("|");
    const known = entries.get(key);
    entries.set(
      key,
      known === undefined
        ? { kind, node, op, name, place: names.join(" / "), count: 1 }
        : { ...known, count: known.count + 1 },
    );
  }
  return [...entries.values()];
}
