/** Which drawn edges cross between devices. A hop has one chip, on the edge that carries most of it, with the hop's own numbers. */
import type { RouteView } from "../../main/contract/views/route.ts";
import { hopChip } from "../graph/hopWords.ts";
import type { Scene } from "../graph/scene.ts";
import type { Picture } from "./graphModes.ts";

export interface HopMark {
  /** Index into the route's hops. */
  readonly hop: number;
  /** "": drawn in ink, another edge of the hop has the chip. */
  readonly chip: string;
}

export function hopMarks(scene: Scene, route: RouteView, segments: Int32Array): ReadonlyMap<number, HopMark> {
  const known = new Map(route.hops.map((hop, i) => [`${hop.fromSegment}/${hop.toSegment}`, i]));
  const marks = new Map<number, HopMark>();
  const widest = new Map<number, number>();
  for (let edge = 0; edge < scene.edgeCount; edge++) {
    if (scene.edgeInner[edge] === 1) continue;
    const [source, target] = [scene.edgeSource[edge] ?? 0, scene.edgeTarget[edge] ?? 0];
    const hop = known.get(`${segments[source] ?? -1}/${segments[target] ?? -1}`);
    if (hop === undefined) continue;
    marks.set(edge, { hop, chip: "" });
    const best = widest.get(hop);
    if (best === undefined || (scene.edgeBytes[edge] ?? 0) > (scene.edgeBytes[best] ?? 0)) widest.set(hop, edge);
  }
  for (const [hop, edge] of widest) {
    const view = route.hops[hop];
    if (view !== undefined) marks.set(edge, { hop, chip: hopChip(view) });
  }
  return marks;
}

/** Hops that a folded group hides: both ends are in its box. */
export function hopsInside(
  { scene, model }: Pick<Picture, "scene" | "model">,
  route: RouteView,
  segments: Int32Array,
): ReadonlyMap<number, number> {
  const known = new Set(route.hops.map(({ fromSegment, toSegment }) => `${fromSegment}/${toSegment}`));
  const found = new Map<number, Set<string>>();
  if (known.size === 0) return new Map();
  const { start, source } = model.view.edges;
  for (let target = 0; target < model.view.nodeCount; target++) {
    const box = scene.boxOfNode[target] ?? -1;
    if (box < 0) continue;
    for (let edge = start[target] ?? 0; edge < (start[target + 1] ?? 0); edge++) {
      const from = source[edge] ?? 0;
      if (scene.boxOfNode[from] !== box || segments[from] === segments[target]) continue;
      const hop = `${segments[from] ?? -1}/${segments[target] ?? -1}`;
      if (!known.has(hop)) continue;
      const inBox = found.get(box);
      if (inBox === undefined) found.set(box, new Set([hop]));
      else inBox.add(hop);
    }
  }
  return new Map([...found].map(([box, hops]) => [box, hops.size]));
}
