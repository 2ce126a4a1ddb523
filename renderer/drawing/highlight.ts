/**
 * Highlights of the graph besides devices and segments: the critical path, or the changes of a
 * pass. The rest is dimmed.
 */
import { criticalPath } from "../graph/criticalPath.ts";
import type { GraphModel } from "../graph/graphModel.ts";
import { approximate, fineShare, plural } from "../ui/format.ts";
import type { Changes } from "./changes.ts";

export type Only = "path" | "changes";

export interface Highlight {
  /** 1 for each node that is not dimmed. */
  readonly nodes: Uint8Array;
  readonly sentence: string;
}

/** Null where there is nothing to choose by: no prediction, no pass. */
export function highlightNodes(
  only: Only | null,
  model: GraphModel,
  work: ArrayLike<number> | null,
  changes: Changes | null,
): Highlight | null {
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
    return { nodes, sentence: "Only changes of the pass" };
  }
  return null;
}
