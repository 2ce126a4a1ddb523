/**
 * How a state can be taken back to what it was before the last steps. It is a property of the
 * `state` leaf, so that every session over the graph can ask before it reuses a prefix.
 */
import type { Graph, Node } from "./graph.ts";

/**
 * positions: a cache; what it holds of the first n positions stays right, whatever was written
 * behind them · ring: a cache of the newest positions (`Ring`); it goes back as long as what is seen
 * there was not written over, and behind that as a checkpoint does · checkpoint: only a copy that
 * was taken at that place can be put back · none: not at all; a session starts over.
 */
export const REWINDS = ["positions", "ring", "checkpoint", "none"] as const;
export type Rewind = (typeof REWINDS)[number];

export const isRewind = (value: unknown): value is Rewind => REWINDS.some((rewind) => rewind === value);

export const rewindOf = ({ attrs }: Node): Rewind => {
  const { rewind } = attrs;
  return isRewind(rewind) ? rewind : "none";
};

/** A cache whose newest rows replace the oldest: position p lies in row p modulo `rows`. */
export interface Ring {
  readonly rows: number;
  /** Positions it can go back; the rows before those are seen from there. */
  readonly spare: number;
}

/** What all rings of a graph can do together, in their largest size; undefined without any. */
export function graphRing(graph: Graph): Ring | undefined {
  const rings = graph.states.flatMap(({ input }) => {
    const leaf = graph.nodes[input];
    if (leaf === undefined || rewindOf(leaf) !== "ring") return [];
    const spare = Number(leaf.attrs["spare"]);
    const rows = leaf.outputs[0]?.shape[RING_AXIS];
    const most = typeof rows === "string" ? graph.symbolLimits[rows] : rows;
    // Of a size that is open, only what it can go back is known.
    return [{ rows: most ?? spare, spare }];
  });
  if (rings.length === 0) return undefined;
  return { rows: Math.min(...rings.map(({ rows }) => rows)), spare: Math.min(...rings.map(({ spare }) => spare)) };
}

/** Rings are [heads, rows, size]. */
const RING_AXIS = 1;

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
