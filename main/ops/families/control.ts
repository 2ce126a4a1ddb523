/** What the ops with sub-graphs share. */
import { invariant } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import type { RegionRun } from "../defineOp.ts";

/** A sub-graph, or its run; the builder has counted them. */
export function regionAt<T extends Graph | RegionRun>(regions: readonly T[], index: number): T {
  const region = regions[index];
  invariant(region, `sub-graph ${index} is missing`);
  return region;
}
