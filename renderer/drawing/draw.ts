/**
 * The underlay, from near enough to see edges (drawMap.ts has the view from afar): group frames, all edges, stubs, and the boxes
 * that are too far away to be elements. Drawn on demand, from flat arrays, only what is in view. World coordinates; one world unit
 * is a pixel at zoom 1.
 */
import { groupName } from "../graph/graphModel.ts";
import { BOX_KINDS } from "../graph/lift.ts";
import type { Scene } from "../graph/scene.ts";
import { CHANGE_SIGNS } from "./changes.ts";
import { hasCards } from "./lod.ts";
import { drawChips, drawEdges, drawShapes, drawStubs, SHAPES_FROM } from "./drawEdges.ts";
import { drawBoxes } from "./drawBoxes.ts";
import type { DrawContext, DrawInput } from "./drawInput.ts";
import { drawSegmentFrames, drawSegmentLabels } from "./segmentFrames.ts";
import { px } from "./drawText.ts";

export function drawUnderlay(context: DrawContext, input: DrawInput): void {
  const { scene } = input.picture;
  for (const box of input.boxes) if (scene.kind[box] === BOX_KINDS.frame) drawFrame(context, input, box);
  drawSegmentFrames(context, input);
  drawEdges(context, input);
  drawStubs(context, input);
  for (const box of input.boxes) if (scene.kind[box] === BOX_KINDS.frame) drawFrameTitle(context, input, box);
  drawBoxes(
    context,
    input,
    input.boxes.filter((box) => scene.kind[box] !== BOX_KINDS.frame && !input.mounted.has(box)),
  );
  for (const box of input.boxes) {
    if (input.changed.has(box)) drawChange(context, input, box);
    if (input.hitBoxes.has(box) || box === input.selectedBox) drawRing(context, input, box);
  }
  drawSegmentLabels(context, input);
  if (input.viewport.zoom > SHAPES_FROM) drawShapes(context, input);
  if (input.viewport.zoom >= 0.5) drawChips(context, input);
}

function roundRect(context: DrawContext, scene: Scene, box: number, radius: number): void {
  context.beginPath();
  context.roundRect(scene.x[box] ?? 0, scene.y[box] ?? 0, scene.w[box] ?? 0, scene.h[box] ?? 0, radius);
}

export function drawFrame(context: DrawContext, input: DrawInput, box: number): void {
  const { picture, colors, detail } = input;
  const { scene } = picture;
  roundRect(context, scene, box, 12);
  context.globalAlpha = 0.7;
  context.fillStyle = colors.panel;
  context.fill();
  context.globalAlpha = 1;
  context.lineWidth = px(input, 1);
  context.strokeStyle = detail === "tiles" ? colors.line : colors.lineStrong;
  context.stroke();
}

/** The words at the head of an open frame take about this much. */
const HEAD_WORDS = 420;

/** After the edges, so that no line runs through the words. */
function drawFrameTitle(context: DrawContext, input: DrawInput, box: number): void {
  const { picture, colors, detail, view } = input;
  const { scene } = picture;
  const [left, top, width] = [scene.x[box] ?? 0, scene.y[box] ?? 0, scene.w[box] ?? 0];
  // A name that has gone out of the view to the left stays at the edge; the element above has to be gone altogether.
  const out = left + (hasCards(detail) ? HEAD_WORDS : px(input, 8)) < view.x;
  const text = groupName(picture.model.view, scene.ref[box] ?? 0);
  if (hasCards(detail)) {
    if (!out && input.mounted.has(box)) return;
    context.font = `600 12px ${colors.font}`;
    if (!out) {
      drawTitle(context, input, text, left + 16, top + 24, 12);
      return;
    }
    const room = left + width - view.x;
    if (room > context.measureText(text).width + 60)
      drawTitle(context, input, text, view.x + px(input, 12), top + 24, 12);
    return;
  }
  // From afar a frame's name is written as large as its width allows.
  const size = detail === "names" ? 16 : Math.min(30, width / 12);
  context.font = `600 ${size}px ${colors.font}`;
  drawTitle(context, input, text, (out ? view.x : left) + 16, top + size + 8, size);
}

function drawTitle(context: DrawContext, input: DrawInput, text: string, x: number, y: number, size: number): void {
  context.fillStyle = input.colors.panel;
  context.fillRect(x - 4, y - size, context.measureText(text).width + 8, size * 1.3);
  context.fillStyle = input.colors.ink;
  context.fillText(text, x, y);
}

/** What a pass did to a box: its colour around it; near enough to read, the cards carry the sign. */
export function drawChange(context: DrawContext, input: DrawInput, box: number): void {
  const kind = input.changed.get(box);
  if (kind === undefined || input.mounted.has(box)) return;
  const { scene } = input.picture;
  const [x, y, w, h] = [scene.x[box] ?? 0, scene.y[box] ?? 0, scene.w[box] ?? 0, scene.h[box] ?? 0];
  // From afar a ring would be thinner than a pixel: the box itself takes the colour.
  const grow = px(input, 1.5);
  context.fillStyle = input.colors.change[kind];
  context.strokeStyle = input.colors.change[kind];
  if (input.detail === "tiles" || input.detail === "boxes") {
    context.fillRect(x - grow, y - grow, w + 2 * grow, h + 2 * grow);
    return;
  }
  roundRect(context, scene, box, 8);
  context.lineWidth = Math.max(2, px(input, 2));
  context.stroke();
  context.font = `700 17px ${input.colors.mono}`;
  // Beside the box: words stand in it up to its edge.
  context.fillText(CHANGE_SIGNS[kind], x + w + 5, y + h / 2 + 6);
}

export function drawRing(context: DrawContext, input: DrawInput, box: number): void {
  const { scene } = input.picture;
  const frame = scene.kind[box] === BOX_KINDS.frame;
  // An element has its own ring; of a frame only the head is one.
  if (!frame && input.mounted.has(box) && box === input.selectedBox) return;
  roundRect(context, scene, box, frame ? 12 : 8);
  context.strokeStyle = input.colors.select;
  context.lineWidth = Math.max(2, px(input, 2));
  if (box !== input.selectedBox) context.setLineDash([px(input, 4), px(input, 3)]);
  context.stroke();
  context.setLineDash([]);
}
