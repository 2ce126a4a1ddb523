/** From a slice of the timeline to the ops of a graph and back, and from a row of a table to its slowest slice. */
import { sourceOf } from "../../../main/contract/views/graph.ts";
import type { Piece } from "../../../main/contract/recordings/pieces.ts";
import { slicePiece } from "../../../main/contract/recordings/pieces.ts";
import type { Scope } from "../../../main/contract/recordings/sums.ts";
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

/** Slices that computed the operation behind the id of a node. */
export function slicesOfNode({ slices }: Pick<ProfileView, "slices">, id: number): ReadonlySet<number> {
  const source = sourceOf(id);
  const found = new Set<number>();
  for (let slice = 0; slice < slices.start.length; slice++)
    for (let at = slices.nodeStart[slice] ?? 0; at < (slices.nodeStart[slice + 1] ?? 0); at++)
      if (slices.nodes[at] === source) found.add(slice);
  return found;
}

/** The slowest that counts in the scope and matches; -1: there is none. */
export function slowestSlice(profile: ProfileView, scope: Scope, matches: (piece: Piece) => boolean): number {
  let [slowest, most] = [-1, 0];
  for (let i = 0; i < profile.slices.start.length; i++) {
    const piece = slicePiece(profile, i);
    if (piece.seconds <= most || scope.secondsOf(piece) <= 0 || !matches(piece)) continue;
    [slowest, most] = [i, piece.seconds];
  }
  return slowest;
}
