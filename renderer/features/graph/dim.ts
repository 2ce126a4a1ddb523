/** Which boxes step back: those without a part in the device that is looked at alone, or in the segment that is selected. */
import { DEVICES } from "../../../main/contract/views/common.ts";
import type { Scene } from "../../graph/scene.ts";
import type { Paint } from "./paint.ts";

/** 1 for each box that is dimmed; null: none is. */
export type Dimmed = Uint8Array | null;

/** `device`: code of the only one that counts, or -1. `segment`: index of the selected one, or -1. */
export function dimmedBoxes(
  scene: Scene,
  paint: Paint,
  segments: ArrayLike<number> | null,
  { device, segment }: { readonly device: number; readonly segment: number },
): Dimmed {
  const bySegment = segments !== null && segment >= 0;
  if (device <= 0 && !bySegment) return null;
  const inside = bySegment ? boxesOf(scene, segments, segment) : null;
  return Uint8Array.from({ length: scene.boxCount }, (_, box) => {
    const elsewhere = device > 0 && (paint.shares[box * DEVICES.length + device] ?? 0) === 0;
    return elsewhere || inside?.[box] === 0 ? 1 : 0;
  });
}

/** Boxes with an op of the segment in them, and those around these. */
function boxesOf(scene: Scene, segments: ArrayLike<number>, segment: number): Uint8Array {
  const inside = new Uint8Array(scene.boxCount);
  for (let node = 0; node < segments.length; node++) {
    if (segments[node] !== segment) continue;
    for (let box = scene.boxOfNode[node] ?? -1; box >= 0 && inside[box] === 0; box = scene.parent[box] ?? -1)
      inside[box] = 1;
  }
  return inside;
}
