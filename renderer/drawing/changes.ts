/**
 * What a pass did, on the graph before it and the graph after it: which nodes it took away, made or changed, and the regions
 * that they form in the order of the program.
 */
import type { PassDiff } from "../../main/contract/views/graph.ts";
import type { GraphModel } from "../graph/graphModel.ts";
import type { Scene } from "../graph/scene.ts";

export type ChangeKind = "added" | "removed" | "changed";
export type Side = "before" | "after";

export interface Changes {
  readonly nodes: ReadonlyMap<number, ChangeKind>;
  /** First node of each stretch of changes within one group. */
  readonly regions: readonly number[];
  readonly counts: { readonly [K in ChangeKind]: number };
}

export const CHANGE_SIGNS = { added: "+", removed: "−", changed: "~" } as const satisfies { [K in ChangeKind]: string };

/** The counts are of the whole pass; the nodes are those that stand on the side that is shown. */
export function changesOn(model: GraphModel, diff: PassDiff, side: Side): Changes {
  const kinds = new Map<number, ChangeKind>();
  for (const id of diff.changedIds) kinds.set(id, "changed");
  for (const id of side === "before" ? diff.removedIds : diff.addedIds)
    kinds.set(id, side === "before" ? "removed" : "added");
  const nodes = new Map<number, ChangeKind>();
  const regions: number[] = [];
  let group = -1;
  for (let node = 0; node < model.view.nodeCount; node++) {
    if (model.hidden[node] === 1) continue;
    const kind = kinds.get(model.view.nodes.id[node] ?? 0);
    if (kind === undefined) continue;
    nodes.set(node, kind);
    const own = model.view.nodes.group[node] ?? 0;
    if (own !== group) regions.push(node);
    group = own;
  }
  return {
    nodes,
    regions,
    counts: { added: diff.addedIds.length, removed: diff.removedIds.length, changed: diff.changedIds.length },
  };
}

/** Boxes with a change in them; a folded group says "changed" unless all in it is of one kind. */
export function changedBoxes(scene: Scene, nodes: ReadonlyMap<number, ChangeKind>): ReadonlyMap<number, ChangeKind> {
  const boxes = new Map<number, ChangeKind>();
  for (const [node, kind] of nodes) {
    const box = scene.boxOfNode[node] ?? -1;
    if (box < 0) continue;
    const known = boxes.get(box);
    boxes.set(box, known === undefined || known === kind ? kind : "changed");
  }
  return boxes;
}

/** The region after (or before) a node, round the end of the program. */
export function nextRegion(regions: readonly number[], from: number, step: 1 | -1): number | null {
  const next =
    step > 0
      ? (regions.find((node) => node > from) ?? regions[0])
      : (regions.findLast((node) => node < from) ?? regions.at(-1));
  return next ?? null;
}
