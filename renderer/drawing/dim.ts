/**
 * Which boxes are dimmed: those outside the active filter (a device, the critical path, changes) or
 * outside the selected segment.
 */
import { DEVICES } from "../../main/contract/views/common.ts";
import type { Scene } from "../graph/scene.ts";
import type { Paint } from "./paint.ts";

/** 1 for each box that is dimmed; null: none is. */
export type Dimmed = Uint8Array | null;

/** `device`: code of the only one that counts, or -1. `segment`: index of the selected one, or -1. */
export function dimmedBoxes(
  scene: Scene,
  paint: Paint,
  segments: ArrayLike<number> | null,
  {
    device,
    segment,
    highlight,
  }: { readonly device: number; readonly segment: number; readonly highlight: Uint8Array | null },
): Dimmed {
  const bySegment = segments !== null && segment >= 0;
  if (device <= 0 && !bySegment && highlight === null) return null;
  const inside = bySegment ? boxesOf(scene, segments, segment) : null;
  const shown = highlight === null ? null : boxesOf(scene, highlight, 1);
  return Uint8Array.from({ length: scene.boxCount }, (_, box) => {
    const elsewhere = device > 0 && (paint.shares[box * DEVICES.length + device] ?? 0) === 0;
    return elsewhere || inside?.[box] === 0 || shown?.[box] === 0 ? 1 : 0;
  });
}

/** Boxes with an op of this number in them, and those around these. */
export function boxesOf(scene: Scene, numbers: ArrayLike<number>, wanted: number): Uint8Array {
  const inside = new Uint8Array(scene.boxCount);
  for (let node = 0; node < numbers.length; node++) {
    if (numbers[node] !== wanted) continue;
    for (let box = scene.boxOfNode[node] ?? -1; box >= 0 && inside[box] === 0; box = scene.parent[box] ?? -1)
      inside[box] = 1;
  }
  return inside;
}
