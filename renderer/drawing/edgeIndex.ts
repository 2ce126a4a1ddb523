/** Which edges lie in a part of the picture. */
import type { GridIndex } from "../graph/gridIndex.ts";
import { createGridIndex } from "../graph/gridIndex.ts";
import type { Scene } from "../graph/scene.ts";

/** Bounding boxes of edges, in a grid of their own. */
export function createEdgeIndex(scene: Scene): GridIndex {
  const [x, y, w, h] = [
    new Float32Array(scene.edgeCount),
    new Float32Array(scene.edgeCount),
    new Float32Array(scene.edgeCount),
    new Float32Array(scene.edgeCount),
  ];
  for (let edge = 0; edge < scene.edgeCount; edge++) {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = scene.edgeStart[edge] ?? 0; i < (scene.edgeStart[edge + 1] ?? 0); i++) {
      const [px, py] = [scene.points[2 * i] ?? 0, scene.points[2 * i + 1] ?? 0];
      [left, right, top, bottom] = [Math.min(left, px), Math.max(right, px), Math.min(top, py), Math.max(bottom, py)];
    }
    [x[edge], y[edge], w[edge], h[edge]] = [left, top, right - left, bottom - top];
  }
  return createGridIndex({ x, y, w, h });
}
