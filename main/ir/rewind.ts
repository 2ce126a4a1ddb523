/**
 * How a state can be taken back to what it was before the last steps. It is a property of the
 * `state` leaf, so that every session over the graph can ask before it reuses a prefix.
 */
import type { Graph, Node } from "./graph.ts";

/**
 * positions: a cache; what it holds of the first n positions stays right, whatever was written
 * behind them · checkpoint: only a copy that was taken at that place can be put back · none: not at
 * all; a session starts over.
 */
export const REWINDS = ["positions", "checkpoint", "none"] as const;
export type Rewind = (typeof REWINDS)[number];

export const isRewind = (value: unknown): value is Rewind => REWINDS.some((rewind) => rewind === value);

export const rewindOf = ({ attrs }: Node): Rewind => {
  const { rewind } = attrs;
  return isRewind(rewind) ? rewind : "none";
};

/** How all states of a graph can be taken back together: as the one that can the least. */
export function graphRewind(graph: Graph): Rewind {
  const least = graph.states.reduce((most, { input }) => {
    const leaf = graph.nodes[input];
    return Math.max(most, leaf === undefined ? 0 : REWINDS.indexOf(rewindOf(leaf)));
  }, 0);
  return REWINDS[least] ?? "none";
}
