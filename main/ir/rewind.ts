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

/** How states go back together: as the one that can the least. */
export const leastRewind = (each: readonly Rewind[]): Rewind =>
  REWINDS[Math.max(0, ...each.map((rewind) => REWINDS.indexOf(rewind)))] ?? "none";

/** How all states of a graph can be taken back together. */
export const graphRewind = (graph: Graph): Rewind =>
  leastRewind(
    graph.states.flatMap(({ input }) => {
      const leaf = graph.nodes[input];
      return leaf === undefined ? [] : [rewindOf(leaf)];
    }),
  );
