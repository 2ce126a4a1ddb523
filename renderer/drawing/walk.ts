/** Moving through the picture by keys, and finding the box for what is selected. */
import { groupPath } from "../graph/graphModel.ts";
import { BOX_KINDS } from "../graph/lift.ts";
import type { Scene } from "../graph/scene.ts";
import type { Selection } from "../session/selected.ts";
import type { Picture } from "./graphModes.ts";

/** The box that shows a group: its own card or frame, or the stack it is in; -1 when an outer group is folded. */
export function boxOfGroup(scene: Scene, group: number): number {
  for (let box = 0; box < scene.boxCount; box++) {
    const kind = scene.kind[box];
    if (kind === BOX_KINDS.op) continue;
    const [first, last] = [scene.ref[box] ?? -1, scene.last[box] ?? -1];
    if (kind === BOX_KINDS.stack ? group >= first && group <= last : group === first) return box;
  }
  return -1;
}

/** As boxOfGroup, or the box of the nearest group around it that is shown. */
export function nearestBoxOfGroup({ scene, model }: Picture, group: number): number {
  for (const at of [...groupPath(model.view, group)].reverse()) {
    const box = boxOfGroup(scene, at);
    if (box >= 0) return box;
  }
  return -1;
}

export function selectedBox(picture: Picture, selection: Selection): number {
  if (selection.kind === "node") return picture.scene.boxOfNode[selection.node] ?? -1;
  return selection.kind === "group" ? nearestBoxOfGroup(picture, selection.group) : -1;
}

export type Direction = "up" | "down" | "left" | "right";

/** Up to a producer, down to a consumer, sideways to a neighbour. */
export function neighbour(scene: Scene, box: number, direction: Direction): number {
  if (box < 0) return scene.boxCount > 0 ? 0 : -1;
  const candidates =
    direction === "up" || direction === "down" ? linked(scene, box, direction) : beside(scene, box, direction);
  const centre = (of: number): number => scene.axis[of] ?? 0;
  let best = -1;
  for (const candidate of candidates)
    if (best < 0 || Math.abs(centre(candidate) - centre(box)) < Math.abs(centre(best) - centre(box))) best = candidate;
  return best;
}

function linked(scene: Scene, box: number, direction: "up" | "down"): readonly number[] {
  const found: number[] = [];
  for (let edge = 0; edge < scene.edgeCount; edge++) {
    const [from, to] = [scene.edgeFrom[edge] ?? -1, scene.edgeTo[edge] ?? -1];
    const [near, far] = direction === "up" ? [to, from] : [from, to];
    if (near !== box || far === box) continue;
    // A port of the frame around it: go on to the box that stands for the real other end.
    const end =
      scene.parent[box] === far
        ? (scene.boxOfNode[(direction === "up" ? scene.edgeSource : scene.edgeTarget)[edge] ?? 0] ?? -1)
        : far;
    if (end >= 0 && end !== box) found.push(end);
  }
  return found;
}

function beside(scene: Scene, box: number, direction: "left" | "right"): readonly number[] {
  const [top, bottom] = [scene.y[box] ?? 0, (scene.y[box] ?? 0) + (scene.h[box] ?? 0)];
  const found: number[] = [];
  for (let other = 0; other < scene.boxCount; other++) {
    if (other === box || scene.parent[other] !== scene.parent[box]) continue;
    if ((scene.y[other] ?? 0) >= bottom || (scene.y[other] ?? 0) + (scene.h[other] ?? 0) <= top) continue;
    const isLeft = (scene.x[other] ?? 0) < (scene.x[box] ?? 0);
    if (isLeft === (direction === "left")) found.push(other);
  }
  return found;
}
