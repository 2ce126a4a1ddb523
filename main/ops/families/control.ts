/** What the ops with sub-graphs share. */
import { invariant } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import type { RegionRun } from "../defineOp.ts";

/** A sub-graph that is there, because the builder counts them. */
export function regionAt(regions: readonly Graph[], index: number): Graph {
  const region = regions[index];
  invariant(region, `sub-graph ${index} is missing`);
  return region;
}

export function runAt(runs: readonly RegionRun[], index: number): RegionRun {
  const run = runs[index];
  invariant(run, `sub-graph ${index} is missing`);
  return run;
}
