/** Which drawn edges cross between devices, and the words on their chips. */
import { deviceOf } from "../../../main/contract/views/common.ts";
import type { RouteView } from "../../../main/contract/views/route.ts";
import type { Scene } from "../../graph/scene.ts";
import { deviceLook } from "../../ui/devices.ts";
import { bytes, figureText } from "../../ui/format.ts";

export function hopTexts(scene: Scene, route: RouteView, segments: Int32Array): ReadonlyMap<number, string> {
  const known = new Map(route.hops.map((hop) => [`${hop.fromSegment}/${hop.toSegment}`, hop]));
  const texts = new Map<number, string>();
  const told = new Set<string>();
  for (let edge = 0; edge < scene.edgeCount; edge++) {
    if (scene.edgeInner[edge] === 1) continue;
    const [source, target] = [scene.edgeSource[edge] ?? 0, scene.edgeTarget[edge] ?? 0];
    const [from, to] = [route.nodes.device[source] ?? 0, route.nodes.device[target] ?? 0];
    if (from === 0 || to === 0 || from === to) continue;
    const hop = known.get(`${segments[source] ?? -1}/${segments[target] ?? -1}`);
    const size = scene.edgeBytes[edge] ?? 0;
    const parts = [`${deviceLook(deviceOf(from)).letter}→${deviceLook(deviceOf(to)).letter}`];
    if (size > 0) parts.push(bytes(size));
    if (hop !== undefined) parts.push(figureText(hop.seconds));
    // A value crosses once, however many ops read it on the other side: the other lines are drawn without a chip.
    const crossing = `${source}/${segments[target] ?? -1}`;
    texts.set(edge, told.has(crossing) ? "" : parts.join("  "));
    told.add(crossing);
  }
  return texts;
}

/** Boxes at both ends of each hop, for jumping from one to the next in program order. */
export function hopTargets(scene: Scene, hops: ReadonlyMap<number, string>): readonly number[] {
  return [...hops.keys()].map((edge) => scene.edgeTarget[edge] ?? 0).sort((a, b) => a - b);
}
