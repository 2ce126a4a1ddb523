/** A hop in words: the same numbers on the chip in the graph, in the list of segments and in its own card. */
import type { HopView, RouteView } from "../../main/contract/views/route.ts";
import { deviceLook } from "../ui/devices.ts";
import { bytes, figureText, plural } from "../ui/format.ts";

/** "A→C": the letters of the devices. */
export const hopLetters = (hop: HopView): string => `${deviceLook(hop.from).letter}→${deviceLook(hop.to).letter}`;

/** Everything that crosses, and the time for all of it: "A→C  2.56 KB  ~230 µs". */
export const hopChip = (hop: HopView): string => `${hopLetters(hop)}  ${bytes(hop.bytes)}  ${figureText(hop.seconds)}`;

/** "3 values, 2.56 KB": what crosses, named. */
export const hopLoad = (hop: HopView): string => `${plural(hop.values, "value")}, ${bytes(hop.bytes)}`;

/** Hops into a segment, the largest first. */
export const hopsInto = (route: RouteView, segment: number): readonly HopView[] =>
  route.hops.filter(({ toSegment }) => toSegment === segment).sort((a, b) => b.bytes - a.bytes);
export const hopsOutOf = (route: RouteView, segment: number): readonly HopView[] =>
  route.hops.filter(({ fromSegment }) => fromSegment === segment).sort((a, b) => b.bytes - a.bytes);

/** The segment of each node, from the stretches of the program that the route is made of; -1 where nothing runs. */
export function segmentsOfNodes(nodeCount: number, { nodes, runs }: Pick<RouteView, "nodes" | "runs">): Int32Array {
  const column = new Int32Array(nodeCount).fill(-1);
  let run = -1;
  for (let node = 0; node < nodeCount; node++) {
    while ((runs.firstNode[run + 1] ?? nodeCount) <= node) run += 1;
    if (run >= 0 && (nodes.device[node] ?? 0) !== 0) column[node] = runs.segment[run] ?? -1;
  }
  return column;
}

/** Nodes on both sides of a hop that are joined by an edge. */
export interface HopEdge {
  readonly source: number;
  readonly target: number;
  readonly bytes: number;
}
export function hopEdges(
  view: {
    readonly nodeCount: number;
    readonly edges: { readonly start: Uint32Array; readonly source: Uint32Array; readonly bytes: Float32Array };
  },
  segments: Int32Array,
  hop: HopView,
): readonly HopEdge[] {
  const found = new Map<number, HopEdge>();
  for (let target = 0; target < view.nodeCount; target++) {
    if (segments[target] !== hop.toSegment) continue;
    for (let edge = view.edges.start[target] ?? 0; edge < (view.edges.start[target + 1] ?? 0); edge++) {
      const source = view.edges.source[edge] ?? 0;
      if (segments[source] === hop.fromSegment && !found.has(source))
        found.set(source, { source, target, bytes: view.edges.bytes[edge] ?? 0 });
    }
  }
  return [...found.values()];
}
