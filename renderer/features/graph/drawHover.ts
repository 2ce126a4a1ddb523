/** The light around the box under the pointer: its edges in ink, solid rings around what it reads, dashed ones around what reads it. */
import { tracePath } from "../../drawing/drawEdges.ts";
import type { DrawContext } from "../../drawing/drawInput.ts";
import type { Around } from "./hover.ts";
import type { CanvasColors } from "../../drawing/colors.ts";
import type { Scene } from "../../graph/scene.ts";

export interface HoverInput {
  readonly scene: Scene;
  readonly colors: CanvasColors;
  readonly zoom: number;
  readonly box: number;
  readonly around: Around;
}

export function drawHover(context: DrawContext, { scene, colors, zoom, box, around }: HoverInput): void {
  context.strokeStyle = colors.ink;
  context.lineCap = "round";
  context.lineWidth = Math.max(1.6, 1.2 / zoom);
  context.beginPath();
  for (const edge of around.edges) tracePath(context, scene, edge);
  context.stroke();
  const ring = (at: number): void => {
    const grow = 2 / zoom;
    context.beginPath();
    context.roundRect(
      (scene.x[at] ?? 0) - grow,
      (scene.y[at] ?? 0) - grow,
      (scene.w[at] ?? 0) + 2 * grow,
      (scene.h[at] ?? 0) + 2 * grow,
      8 + grow,
    );
    context.stroke();
  };
  context.lineWidth = 1.5 / zoom;
  ring(box);
  for (const at of around.producers) ring(at);
  context.setLineDash([4 / zoom, 3 / zoom]);
  for (const at of around.consumers) ring(at);
  context.setLineDash([]);
}
