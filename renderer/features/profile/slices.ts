/** From a slice of the timeline to the ops of a graph that it computed, and from an op's name to its slowest slice. */
import { sourceOf } from "../../../main/contract/views/graph.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";

/** Nodes of the graph with those ids, in its order. */
export function nodesOfSlice(
  { slices }: Pick<ProfileView, "slices">,
  slice: number,
  ids: { readonly length: number; readonly [i: number]: number },
): readonly number[] {
  const sources = new Set(slices.nodes.subarray(slices.nodeStart[slice] ?? 0, slices.nodeStart[slice + 1] ?? 0));
  const nodes: number[] = [];
  if (sources.size === 0) return nodes;
  for (let node = 0; node < ids.length; node++) if (sources.has(sourceOf(ids[node] ?? 0))) nodes.push(node);
  return nodes;
}

/** The slowest of that name in the phase; -1: it has none. */
export function slowestSlice({ slices, steps, strings }: ProfileView, op: string, decode: boolean): number {
  let slowest = -1;
  for (let i = 0; i < slices.start.length; i++) {
    if ((steps.decode[slices.step[i] ?? 0] === 1) !== decode || strings[slices.op[i] ?? 0] !== op) continue;
    if (slowest < 0 || (slices.seconds[i] ?? 0) > (slices.seconds[slowest] ?? 0)) slowest = i;
  }
  return slowest;
}
