/**
 * Boxes on the underlay: from afar in the colours of what runs in them, nearer as outlines with a thin bar of their device
 * and the sign of their kind, then with their names, and as whole cards where no element stands for them. Bodies are drawn
 * together, one path for each look, because thousands may be in view.
 */
import { DEVICES, deviceOf } from "../../main/contract/views/common.ts";
import { BOX_KINDS } from "../graph/lift.ts";
import { kindLook } from "../graph/opKinds.ts";
import type { OpKind } from "../graph/opKinds.ts";
import type { Scene } from "../graph/scene.ts";
import { deviceLook } from "../ui/devices.ts";
import { boxKind, cardText, isLine } from "./cardText.ts";
import type { CardText } from "./cardText.ts";
import { mixed } from "./colors.ts";
import { isHeat } from "./graphModes.ts";
import type { DrawContext, DrawInput } from "./drawInput.ts";
import { fitText, px } from "./drawText.ts";

/** Pixels of the screen: of a bar from afar, of a name, of a kind's sign, and the least side of a tile with an outline. */
const PIXELS = { bar: 4, name: 10, kind: 8, outlined: 3 } as const;
/** In the picture's units, from near. */
const CARD = { bar: 5, heat: 10, radius: 7, line: 16, pad: 14 } as const;

const isDimmed = (input: DrawInput, box: number): boolean => input.dimmed?.[box] === 1;

function fillOf(input: DrawInput, box: number, device: number): object | string {
  const heat = input.paint.heat[box] ?? null;
  if (heat !== null) return heat;
  const name = deviceOf(device);
  if (name === "gpu") return input.patterns.gpu;
  if (name === "cpu") return input.patterns.cpu;
  return name === "none" ? input.colors.edge : input.colors.device[name];
}

const kindOf = ({ picture }: DrawInput, box: number): OpKind | null => boxKind(picture, box);

/** Boxes of one look: their bodies are one path. */
class Batches {
  readonly #lists = new Map<unknown, number[]>();
  add(look: unknown, box: number): void {
    const list = this.#lists.get(look);
    if (list === undefined) this.#lists.set(look, [box]);
    else list.push(box);
  }
  each<Look>(draw: (look: Look, boxes: readonly number[]) => void): void {
    for (const [look, boxes] of this.#lists) draw(look as Look, boxes);
  }
}

/** Everything but frames. */
export function drawBoxes(context: DrawContext, input: DrawInput, boxes: readonly number[]): void {
  const shown = boxes.filter((box) => isDimmed(input, box));
  const rest = shown.length === 0 ? boxes : boxes.filter((box) => !isDimmed(input, box));
  drawAlike(context, input, rest);
  if (shown.length === 0) return;
  context.globalAlpha = 0.3;
  drawAlike(context, input, shown);
  context.globalAlpha = 1;
}

function drawAlike(context: DrawContext, input: DrawInput, boxes: readonly number[]): void {
  if (input.detail === "tiles") for (const box of boxes) drawTile(context, input, box);
  else {
    drawBodies(context, input, boxes);
    if (input.detail === "boxes") for (const box of boxes) drawSign(context, input, box);
    else if (input.detail === "names") for (const box of boxes) drawName(context, input, box);
    else for (const box of boxes) drawCard(context, input, box);
  }
}

function drawBodies(context: DrawContext, input: DrawInput, boxes: readonly number[]): void {
  const { picture, colors, detail, paint } = input;
  const { scene } = picture;
  const near = detail !== "boxes";
  const [bodies, bars] = [new Batches(), new Batches()];
  for (const box of boxes) {
    if (scene.kind[box] === BOX_KINDS.stack) drawStackLip(context, input, box);
    const kind = kindOf(input, box);
    // Without room for words, the heat is what there is to see.
    const heat = near ? null : (paint.heat[box] ?? null);
    const isPill = near && isLine(scene, box);
    bodies.add(
      isPill ? colors.panel : (heat ?? mixed(colors.raised, colors.ink, kind === null ? 0 : kindLook(kind).tint)),
      box,
    );
    if (!isPill) bars.add(fillOf(input, box, paint.device[box] ?? 0), box);
  }
  const trace = (list: readonly number[]): void => {
    context.beginPath();
    for (const box of list)
      if (near) context.roundRect(...rectOf(scene, box), isLine(scene, box) ? CARD.line : CARD.radius);
      else context.rect(...rectOf(scene, box));
  };
  bodies.each<string>((color, list) => {
    trace(list);
    context.fillStyle = color;
    context.fill();
  });
  const width = barWidth(input);
  bars.each<object | string>((fill, list) => {
    context.beginPath();
    for (const box of list) {
      const [x, y, w, h] = rectOf(scene, box);
      if (near) context.roundRect(x, y, Math.min(width, w), h, [CARD.radius, 0, 0, CARD.radius]);
      else context.rect(x, y, Math.min(width, w), h);
    }
    context.fillStyle = fill;
    context.fill();
  });
  trace(boxes);
  context.lineWidth = px(input, 1);
  context.strokeStyle = near ? colors.lineStrong : colors.edge;
  context.stroke();
}

/** A quantity is looked at for itself: its bar is wider than a device's. */
const barWidth = (input: DrawInput): number =>
  Math.max(isHeat(input.paint.mode) ? CARD.heat : CARD.bar, px(input, PIXELS.bar));

function rectOf(scene: Scene, box: number): [x: number, y: number, w: number, h: number] {
  return [scene.x[box] ?? 0, scene.y[box] ?? 0, scene.w[box] ?? 0, scene.h[box] ?? 0];
}

/** Too far for a name: the sign of the kind. */
function drawSign(context: DrawContext, input: DrawInput, box: number): void {
  const kind = kindOf(input, box);
  if (kind === null) return;
  const [x, y, w, h] = rectOf(input.picture.scene, box);
  const size = Math.min(px(input, PIXELS.kind), h * 0.8);
  context.fillStyle = input.colors.ink2;
  context.glyph(kindLook(kind).glyph, x + (w - size) / 2, y + (h - size) / 2, size);
}

function drawName(context: DrawContext, input: DrawInput, box: number): void {
  const { picture, colors } = input;
  const [x, y, w, h] = rectOf(picture.scene, box);
  const { name, kind } = cardText({ picture, paint: input.paint, ...input.words }, box);
  // Letters keep their size on the screen until the box is too low for them.
  const size = Math.min(h * 0.62, Math.max(16, px(input, PIXELS.name)));
  const from = x + barWidth(input) + size * 0.5;
  const sign = kind !== null && input.viewport.zoom >= 0.4 ? size * 0.75 : 0;
  context.font = `600 ${Math.round(size)}px ${colors.font}`;
  context.fillStyle = colors.ink;
  context.fillText(fitText(context, name, x + w - from - size * 0.3 - sign * 1.6), from, y + h / 2 + size * 0.36);
  if (sign === 0 || kind === null) return;
  context.fillStyle = colors.ink3;
  context.glyph(kindLook(kind).glyph, x + w - sign * 1.6, y + (h - sign) / 2, sign);
}

/** A card as its element looks: two lines, the device's sign, the strip of shares. */
function drawCard(context: DrawContext, input: DrawInput, box: number): void {
  const { picture, paint, colors } = input;
  const { scene } = picture;
  const [x, y, w, h] = rectOf(scene, box);
  const text = cardText({ picture, paint, ...input.words }, box);
  const device = deviceOf(paint.device[box] ?? 0);
  const left = x + CARD.pad;
  const right = x + w - 10;
  const line = y + (text.small ? h / 2 + 4 : h / 2 - 3);
  let at = left;
  if (device !== "none") {
    context.fillStyle = colors.device[device];
    context.glyph(deviceLook(device).glyph, at, line - 9, 10);
    at += 16;
  }
  context.font = `11px ${colors.font}`;
  const rightWidth = text.right === "" ? 0 : context.measureText(text.right).width;
  context.fillStyle = colors.ink2;
  // Where fonts are a little wider than they were measured, the words stay in the card.
  context.textAlign = "right";
  context.fillText(text.right, right, line);
  context.textAlign = "left";
  const room = right - rightWidth - 6 - at - (text.kind === null ? 0 : 15);
  context.font = `600 12px ${colors.font}`;
  context.fillStyle = colors.ink;
  const name = fitText(context, text.name, room);
  context.fillText(name, at, line);
  if (text.kind !== null && !text.small) {
    context.fillStyle = colors.ink3;
    context.glyph(kindLook(text.kind).glyph, at + context.measureText(name).width + 6, line - 9, 9);
  }
  if (!text.small) drawUnder(context, input, text, { left, right, line: line + 16 });
  if (scene.kind[box] !== BOX_KINDS.op) drawStrip(context, input, box);
}

function drawUnder(
  context: DrawContext,
  { colors, detail }: DrawInput,
  { under, type, warn }: CardText,
  { left, right, line }: { readonly left: number; readonly right: number; readonly line: number },
): void {
  context.fillStyle = colors.ink2;
  let end = right;
  if (warn !== null) {
    context.fillStyle = colors.warn;
    context.glyph(WARNING, right - 11, line - 10, 11);
    end -= 16;
  }
  context.fillStyle = colors.ink2;
  if (detail === "full" && type !== "") {
    context.font = `9px ${colors.mono}`;
    const shown = fitText(context, type, (right - left) * 0.6);
    end -= context.measureText(shown).width;
    context.fillText(shown, end, line);
    end -= 6;
  }
  context.font = `11px ${colors.mono}`;
  context.fillText(fitText(context, under, end - left), left, line);
}

const WARNING = "M5 .5 9.8 9.5H.2zM5 2.6 2 8.5h6z";

/** Which devices do a group's work. */
function drawStrip(context: DrawContext, input: DrawInput, box: number): void {
  const [x, y, w, h] = rectOf(input.picture.scene, box);
  const shares = DEVICES.map((_, device) => input.paint.shares[box * DEVICES.length + device] ?? 0);
  if (shares.filter((share) => share > 0).length < 2) return;
  let at = x + CARD.pad;
  shares.forEach((share, device) => {
    const name = deviceOf(device);
    context.fillStyle = name === "none" ? input.colors.edge : input.colors.device[name];
    context.fillRect(at, y + h - 8, (w - 24) * share, 4);
    at += (w - 24) * share;
  });
}

/** From afar: a tile in the colours of what runs in it, left to right by share. */
function drawTile(context: DrawContext, input: DrawInput, box: number): void {
  const { picture, paint, colors } = input;
  const [x, y, w, h] = rectOf(picture.scene, box);
  if (paint.heat[box] !== null || picture.scene.kind[box] === BOX_KINDS.op) {
    context.fillStyle = fillOf(input, box, paint.device[box] ?? 0);
    context.fillRect(x, y, w, h);
    // The dark end of the scale would sink into a dark ground. A line would be all there is of a box of few pixels.
    if (paint.heat[box] !== null && Math.min(w, h) >= px(input, PIXELS.outlined)) {
      context.lineWidth = px(input, 1);
      context.strokeStyle = colors.lineStrong;
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
  context.fillStyle = colors.edge;
  context.fillRect(x, y, w, h);
}

function drawStackLip(context: DrawContext, input: DrawInput, box: number): void {
  const [x, y, w] = rectOf(input.picture.scene, box);
  context.strokeStyle = input.colors.edge;
  context.lineWidth = Math.max(1.4, px(input, 0.8));
  context.beginPath();
  context.moveTo(x + 6, y - 4);
  context.lineTo(x + w - 6, y - 4);
  context.moveTo(x + 12, y - 8);
  context.lineTo(x + w - 12, y - 8);
  context.stroke();
}
