/**
 * The underlay, from near enough to see edges (drawMap.ts has the view from afar): group frames, all edges, stubs, and the boxes
 * that are too far away to be elements. Drawn on demand, from flat arrays, only what is in view. World coordinates; one world unit
 * is a pixel at zoom 1.
 */
import { DEVICES, deviceOf } from "../../../main/contract/views/common.ts";
import { groupName } from "../../graph/graphModel.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import type { Scene } from "../../graph/scene.ts";
import { titleOf } from "./boxWords.ts";
import { CHANGE_SIGNS } from "./changes.ts";
import { hasCards } from "./lod.ts";
import { drawChips, drawEdges, drawStubs } from "./drawEdges.ts";
import type { DrawContext, DrawInput } from "./drawInput.ts";
import { px } from "./drawInput.ts";

export function drawUnderlay(context: DrawContext, input: DrawInput): void {
  const { scene } = input.picture;
  for (const box of input.boxes) if (scene.kind[box] === BOX_KINDS.frame) drawFrame(context, input, box);
  drawEdges(context, input);
  drawStubs(context, input);
  for (const box of input.boxes) if (scene.kind[box] === BOX_KINDS.frame) drawFrameTitle(context, input, box);
  for (const box of input.boxes) {
    if (scene.kind[box] !== BOX_KINDS.frame && !input.mounted.has(box)) drawBox(context, input, box);
    if (input.hitBoxes.has(box) || box === input.selectedBox) drawRing(context, input, box);
    else if (input.changed.has(box)) drawChange(context, input, box);
  }
  if (input.viewport.zoom >= 0.5) drawChips(context, input);
}

const isDimmed = (input: DrawInput, box: number): boolean => input.dimmed?.[box] === 1;

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
    if (!out) return;
    context.font = `600 12px ${colors.font}`;
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

function fillOf(input: DrawInput, box: number, device: number): CanvasPattern | string {
  const heat = input.paint.heat[box] ?? null;
  if (heat !== null) return heat;
  const name = deviceOf(device);
  if (name === "gpu") return input.patterns.gpu;
  if (name === "cpu") return input.patterns.cpu;
  return name === "none" ? input.colors.lineStrong : input.colors.device[name];
}

export function drawBox(context: DrawContext, input: DrawInput, box: number): void {
  const { picture, paint, colors, detail } = input;
  const { scene } = picture;
  context.globalAlpha = isDimmed(input, box) ? 0.3 : 1;
  const device = paint.device[box] ?? 0;
  if (detail === "tiles" || detail === "boxes") drawTile(context, input, box);
  else {
    if (scene.kind[box] === BOX_KINDS.stack) drawStackLip(context, input, box);
    roundRect(context, scene, box, 7);
    context.fillStyle = colors.raised;
    context.fill();
    context.lineWidth = px(input, 1);
    context.strokeStyle = colors.lineStrong;
    context.stroke();
    context.save();
    context.clip();
    context.fillStyle = fillOf(input, box, device);
    context.fillRect(scene.x[box] ?? 0, scene.y[box] ?? 0, 7, scene.h[box] ?? 0);
    context.restore();
    context.fillStyle = colors.ink;
    context.font = `600 17px ${colors.font}`;
    context.fillText(
      titleOf(picture, box),
      (scene.x[box] ?? 0) + 18,
      (scene.y[box] ?? 0) + (scene.h[box] ?? 0) / 2 + 6,
      (scene.w[box] ?? 0) - 30,
    );
  }
  context.globalAlpha = 1;
}

/** From afar: a tile in the colours of what runs in it, left to right by share. */
function drawTile(context: DrawContext, input: DrawInput, box: number): void {
  const { picture, paint } = input;
  const { scene } = picture;
  const [x, y, w, h] = [scene.x[box] ?? 0, scene.y[box] ?? 0, scene.w[box] ?? 0, scene.h[box] ?? 0];
  if (paint.heat[box] !== null || scene.kind[box] === BOX_KINDS.op) {
    context.fillStyle = fillOf(input, box, paint.device[box] ?? 0);
    context.fillRect(x, y, w, h);
    // The dark end of the scale would sink into a dark ground.
    if (paint.heat[box] !== null) {
      context.lineWidth = px(input, 1);
      context.strokeStyle = input.colors.lineStrong;
      context.strokeRect(x, y, w, h);
    }
    return;
  }
  let at = x;
  for (let device = 0; device < DEVICES.length; device++) {
    const share = paint.shares[box * DEVICES.length + device] ?? 0;
    if (share === 0) continue;
    context.fillStyle = fillOf(input, box, device);
    context.fillRect(at, y, w * share, h);
    at += w * share;
  }
  if (at !== x) return;
  context.fillStyle = input.colors.lineStrong;
  context.fillRect(x, y, w, h);
}

function drawStackLip(context: DrawContext, input: DrawInput, box: number): void {
  const { scene } = input.picture;
  const [x, y, w] = [scene.x[box] ?? 0, scene.y[box] ?? 0, scene.w[box] ?? 0];
  context.strokeStyle = input.colors.lineStrong;
  context.lineWidth = 1.4;
  context.beginPath();
  context.moveTo(x + 6, y - 4);
  context.lineTo(x + w - 6, y - 4);
  context.moveTo(x + 12, y - 8);
  context.lineTo(x + w - 12, y - 8);
  context.stroke();
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
  context.fillText(CHANGE_SIGNS[kind], x + w - 18, y + h / 2 + 6);
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
