/** What alone is looked at besides a device or a segment: the critical path, or what a pass changed. The rest steps back. */
import { criticalPath } from "../../graph/criticalPath.ts";
import type { GraphModel } from "../../graph/graphModel.ts";
import { approximate, fineShare, plural } from "../../ui/format.ts";
import type { Changes } from "./changes.ts";

export type Only = "path" | "changes";

export interface Lit {
  /** 1 for each node that stays as it is. */
  readonly nodes: Uint8Array;
  readonly sentence: string;
}

/** Null where there is nothing to choose by: no prediction, no pass. */
export function litNodes(
  only: Only | null,
  model: GraphModel,
  work: ArrayLike<number> | null,
  changes: Changes | null,
): Lit | null {
  if (only === "path" && work !== null) {
    const path = criticalPath(model, work);
    return {
      nodes: path.nodes,
      sentence: `Critical path: ${plural(path.ops, "op")}, ${approximate(fineShare(path.share))} of estimated time`,
    };
  }
  if (only === "changes" && changes !== null) {
    const nodes = new Uint8Array(model.view.nodeCount);
    for (const node of changes.nodes.keys()) nodes[node] = 1;
    return { nodes, sentence: "Only what the pass changed" };
  }
  return null;
}
