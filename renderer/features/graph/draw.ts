/**
 * The underlay: group frames, all edges, stubs, and the boxes that are too far away to be elements. Drawn on demand, from
 * flat arrays, only what is in view. World coordinates; one world unit is a pixel at zoom 1.
 */
import { DEVICES, deviceOf } from "../../../main/contract/views/common.ts";
import { groupName, nodeName, opName, visibleOps } from "../../graph/graphModel.ts";
import type { Rect } from "../../graph/gridIndex.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import { EDGE_KINDS, STUB_HEIGHT } from "../../graph/scene.ts";
import type { Scene } from "../../graph/scene.ts";
import { plural } from "../../ui/format.ts";
import type { CanvasColors } from "./colors.ts";
import type { Detail, Viewport } from "./lod.ts";
import type { Paint } from "./paint.ts";
import type { Picture } from "./slice.ts";

/** What crosses between devices along an edge: drawn in ink, with a chip that says so. */
export interface HopChip {
  readonly edge: number;
  readonly text: string;
}

export interface DrawInput {
  readonly picture: Picture;
  readonly paint: Paint;
  readonly colors: CanvasColors;
  readonly patterns: Patterns;
  readonly viewport: Viewport;
  readonly detail: Detail;
  readonly view: Rect;
  /** Boxes and edges in view. */
  readonly boxes: readonly number[];
  readonly edges: readonly number[];
  /** Boxes that stand as elements above: not drawn here. */
  readonly mounted: ReadonlySet<number>;
  readonly hops: ReadonlyMap<number, string>;
  readonly selectedBox: number;
  readonly hitBoxes: ReadonlySet<number>;
  /** Code of the only device that is not dimmed, or -1. */
  readonly isolated: number;
}

export interface Patterns {
  readonly gpu: CanvasPattern | string;
  readonly cpu: CanvasPattern | string;
}

export function createPatterns(colors: CanvasColors): Patterns {
  const tile = (
    draw: (context: OffscreenCanvasRenderingContext2D) => void,
    fallback: string,
  ): CanvasPattern | string => {
    const canvas = new OffscreenCanvas(8, 8);
    const context = canvas.getContext("2d");
    if (context === null) return fallback;
    draw(context);
    return context.createPattern(canvas, "repeat") ?? fallback;
  };
  const gpu = tile((context) => {
    context.fillStyle = colors.device.gpu;
    context.fillRect(0, 0, 8, 8);
    context.strokeStyle = "#0005";
    context.lineWidth = 2;
    context.beginPath();
    for (const shift of [-8, 0, 8]) {
      context.moveTo(shift, 8);
      context.lineTo(shift + 8, 0);
    }
    context.stroke();
  }, colors.device.gpu);
  const cpu = tile((context) => {
    context.fillStyle = colors.device.cpu;
    context.fillRect(0, 0, 8, 8);
    context.fillStyle = colors.canvas;
    context.globalAlpha = 0.6;
    for (const [x, y] of [
      [2, 2],
      [6, 6],
    ] as const) {
      context.beginPath();
      context.arc(x, y, 1, 0, 7);
      context.fill();
    }
  }, colors.device.cpu);
  return { gpu, cpu };
}

export function drawUnderlay(context: CanvasRenderingContext2D, input: DrawInput): void {
  const { scene } = input.picture;
  for (const box of input.boxes) if (scene.kind[box] === BOX_KINDS.frame) drawFrame(context, input, box);
  drawEdges(context, input);
  if (input.detail !== "tiles") drawStubs(context, input);
  for (const box of input.boxes) if (scene.kind[box] === BOX_KINDS.frame) drawFrameTitle(context, input, box);
  for (const box of input.boxes) {
    if (scene.kind[box] !== BOX_KINDS.frame && !input.mounted.has(box)) drawBox(context, input, box);
    if (input.hitBoxes.has(box) || box === input.selectedBox) drawRing(context, input, box);
  }
  if (input.viewport.zoom >= 0.5) drawChips(context, input);
}

const px = (input: DrawInput, pixels: number): number => pixels / input.viewport.zoom;
const isDimmed = (input: DrawInput, box: number): boolean =>
  input.isolated > 0 && (input.paint.shares[box * DEVICES.length + input.isolated] ?? 0) === 0;

function roundRect(context: CanvasRenderingContext2D, scene: Scene, box: number, radius: number): void {
  context.beginPath();
  context.roundRect(scene.x[box] ?? 0, scene.y[box] ?? 0, scene.w[box] ?? 0, scene.h[box] ?? 0, radius);
}

function drawFrame(context: CanvasRenderingContext2D, input: DrawInput, box: number): void {
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

/** After the edges, so that no line runs through the words. */
function drawFrameTitle(context: CanvasRenderingContext2D, input: DrawInput, box: number): void {
  const { picture, colors, detail } = input;
  const { scene } = picture;
  if ((detail !== "boxes" && detail !== "names") || input.mounted.has(box)) return;
  // From afar a frame's name is written as large as its width allows.
  const size = detail === "names" ? 16 : Math.min(30, (scene.w[box] ?? 0) / 12);
  const text = groupName(picture.model.view, scene.ref[box] ?? 0);
  const [x, y] = [(scene.x[box] ?? 0) + 16, (scene.y[box] ?? 0) + size + 8];
  context.font = `600 ${size}px ${colors.font}`;
  context.fillStyle = colors.panel;
  context.fillRect(x - 4, y - size, context.measureText(text).width + 8, size * 1.3);
  context.fillStyle = colors.ink;
  context.fillText(text, x, y);
}

/** Edge widths by what they carry: one pixel to four, by the logarithm of the bytes. */
export function edgeWidth(bytes: number): number {
  if (bytes <= 4096) return 1.2;
  return Math.min(4, 1.2 + (Math.log2(bytes) - 12) * 0.28);
}

function tracePath(context: CanvasRenderingContext2D, scene: Scene, edge: number): void {
  const { points } = scene;
  const from = (scene.edgeStart[edge] ?? 0) * 2;
  const to = (scene.edgeStart[edge + 1] ?? 0) * 2;
  let [x, y] = [points[from] ?? 0, points[from + 1] ?? 0];
  context.moveTo(x, y);
  const straight = scene.edgeKind[edge] === EDGE_KINDS.back;
  for (let i = from + 2; i < to; i += 2) {
    const [nextX, nextY] = [points[i] ?? 0, points[i + 1] ?? 0];
    if (straight || Math.abs(nextX - x) < 0.5) context.lineTo(nextX, nextY);
    else context.bezierCurveTo(x, (y + nextY) / 2, nextX, (y + nextY) / 2, nextX, nextY);
    [x, y] = [nextX, nextY];
  }
}

function drawEdges(context: CanvasRenderingContext2D, input: DrawInput): void {
  const { picture, colors, detail, selectedBox, hops } = input;
  const { scene } = picture;
  const floor = px(input, 0.8);
  const classes: { readonly width: number; readonly list: number[] }[] = [1.2, 2, 3, 4].map((width) => ({
    width,
    list: [],
  }));
  const state: number[] = [];
  const special: { readonly edge: number; readonly color: string }[] = [];
  for (const edge of input.edges) {
    const chosen = selectedBox >= 0 && (scene.edgeFrom[edge] === selectedBox || scene.edgeTo[edge] === selectedBox);
    if (chosen) special.push({ edge, color: colors.select });
    else if (hops.has(edge)) special.push({ edge, color: colors.ink });
    else if (detail === "tiles") continue;
    else if (scene.edgeKind[edge] === EDGE_KINDS.state) state.push(edge);
    else {
      const width = edgeWidth(scene.edgeBytes[edge] ?? 0);
      (classes.find((entry) => width <= entry.width) ?? classes[3])?.list.push(edge);
    }
  }
  context.lineCap = "round";
  context.strokeStyle = colors.lineStrong;
  const stroke = (list: readonly number[], width: number): void => {
    if (list.length === 0) return;
    context.lineWidth = Math.max(floor, width);
    context.beginPath();
    for (const edge of list) tracePath(context, scene, edge);
    context.stroke();
  };
  for (const { width, list } of classes) stroke(list, width);
  context.setLineDash([7, 3, 1.5, 3]);
  stroke(state, 1.4);
  context.setLineDash([]);
  for (const { edge, color } of special) {
    context.strokeStyle = color;
    context.lineWidth = Math.max(px(input, 1.4), 2);
    context.beginPath();
    tracePath(context, scene, edge);
    context.stroke();
  }
}

function drawStubs(context: CanvasRenderingContext2D, input: DrawInput): void {
  const { picture, colors, detail, selectedBox } = input;
  const { scene, model } = picture;
  const inView = new Set(input.boxes);
  context.font = `11px ${colors.font}`;
  context.textBaseline = "middle";
  const selectedNode = selectedBox >= 0 && scene.kind[selectedBox] === BOX_KINDS.op ? scene.ref[selectedBox] : -1;
  for (let stub = 0; stub < scene.stubCount; stub++) {
    const box = scene.stubBox[stub] ?? 0;
    if (!inView.has(box)) continue;
    const [x, y, w] = [scene.stubX[stub] ?? 0, scene.stubY[stub] ?? 0, scene.stubW[stub] ?? 0];
    const node = scene.stubNode[stub] ?? 0;
    // All stubs of a value light up with it.
    const lit = node === selectedNode || box === selectedBox;
    context.strokeStyle = lit ? colors.select : colors.lineStrong;
    context.lineWidth = Math.max(1, px(input, 0.8));
    context.beginPath();
    context.moveTo((scene.x[box] ?? 0) + (scene.w[box] ?? 0), y + STUB_HEIGHT / 2);
    context.lineTo(x, y + STUB_HEIGHT / 2);
    context.roundRect(x, y, w, STUB_HEIGHT, STUB_HEIGHT / 2);
    context.stroke();
    if (detail === "boxes") continue;
    const more = scene.stubMore[stub] ?? 0;
    context.fillStyle = lit ? colors.ink : colors.ink2;
    context.fillText(
      nodeName(model.view, node) + (more > 0 ? ` +${more}` : ""),
      x + 9,
      y + STUB_HEIGHT / 2 + 0.5,
      w - 16,
    );
  }
  context.textBaseline = "alphabetic";
}

function fillOf(input: DrawInput, box: number, device: number): CanvasPattern | string {
  const heat = input.paint.heat[box] ?? null;
  if (heat !== null) return heat;
  const name = deviceOf(device);
  if (name === "gpu") return input.patterns.gpu;
  if (name === "cpu") return input.patterns.cpu;
  return name === "none" ? input.colors.lineStrong : input.colors.device[name];
}

function drawBox(context: CanvasRenderingContext2D, input: DrawInput, box: number): void {
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
function drawTile(context: CanvasRenderingContext2D, input: DrawInput, box: number): void {
  const { picture, paint } = input;
  const { scene } = picture;
  const [x, y, w, h] = [scene.x[box] ?? 0, scene.y[box] ?? 0, scene.w[box] ?? 0, scene.h[box] ?? 0];
  if (paint.heat[box] !== null || scene.kind[box] === BOX_KINDS.op) {
    context.fillStyle = fillOf(input, box, paint.device[box] ?? 0);
    context.fillRect(x, y, w, h);
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

function drawStackLip(context: CanvasRenderingContext2D, input: DrawInput, box: number): void {
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

function drawRing(context: CanvasRenderingContext2D, input: DrawInput, box: number): void {
  if (input.mounted.has(box) && box === input.selectedBox) return;
  roundRect(context, input.picture.scene, box, 8);
  context.strokeStyle = input.colors.select;
  context.lineWidth = Math.max(2, px(input, 2));
  if (box !== input.selectedBox) context.setLineDash([px(input, 4), px(input, 3)]);
  context.stroke();
  context.setLineDash([]);
}

/** The chip stands on the middle of its edge. */
function drawChips(context: CanvasRenderingContext2D, input: DrawInput): void {
  const { picture, colors } = input;
  const { scene } = picture;
  context.font = `11px ${colors.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const edge of input.edges) {
    const text = input.hops.get(edge);
    if (text === undefined || text === "") continue;
    const { x, y } = edgeMiddle(scene, edge);
    const half = context.measureText(text).width / 2 + 10;
    context.beginPath();
    context.roundRect(x - half, y - 10, 2 * half, 20, 10);
    context.fillStyle = colors.canvas;
    context.fill();
    context.strokeStyle = colors.ink2;
    context.lineWidth = 1;
    context.stroke();
    context.fillStyle = colors.ink;
    context.fillText(text, x, y + 0.5);
  }
  context.textAlign = "start";
  context.textBaseline = "alphabetic";
}

export function edgeMiddle(scene: Scene, edge: number): { readonly x: number; readonly y: number } {
  const first = scene.edgeStart[edge] ?? 0;
  const count = (scene.edgeStart[edge + 1] ?? 0) - first;
  // Points come in pairs around the ranks they pass: the middle piece is the one between two ranks.
  const a = (first + Math.floor((count - 1) / 2)) * 2;
  const { points } = scene;
  return { x: ((points[a] ?? 0) + (points[a + 2] ?? 0)) / 2, y: ((points[a + 1] ?? 0) + (points[a + 3] ?? 0)) / 2 };
}

/** The words of a box: an op's name, a group's name, a stack's first and last block. */
export function titleOf({ model, scene }: Picture, box: number): string {
  const { view } = model;
  const ref = scene.ref[box] ?? 0;
  if (scene.kind[box] === BOX_KINDS.op) return opName(view, ref);
  if (scene.kind[box] !== BOX_KINDS.stack) return groupName(view, ref);
  return rangeName(groupName(view, ref), groupName(view, scene.last[box] ?? ref));
}

/** "block 0", "block 6" → "blocks 0 – 6". */
export function rangeName(first: string, last: string): string {
  const a = /^(.*?)[ .]?(\d+)$/.exec(first);
  const b = /(\d+)$/.exec(last);
  return a === null || b === null ? `${first} – ${last}` : `${a[1] ?? ""}s ${a[2] ?? ""} – ${b[1] ?? ""}`;
}

export function subtitleOf({ model, scene }: Picture, box: number, note = ""): string {
  const { view } = model;
  const ref = scene.ref[box] ?? 0;
  const kind = scene.kind[box];
  if (kind === BOX_KINDS.op) {
    const weight = view.strings[view.nodes.weight[ref] ?? 0] ?? "";
    const name = nodeName(view, ref);
    return [name === opName(view, ref) ? "" : name, weight].filter((part) => part !== "").join("  ");
  }
  const ops = visibleOps(model, ref);
  if (kind === BOX_KINDS.stack)
    return `${(scene.last[box] ?? ref) === ref ? 1 : stackSize(scene, model.view.groups.parent, box)} × ${plural(ops, "op")}, identical`;
  return note === "" ? plural(ops, "op") : `${plural(ops, "op")}, ${note}`;
}

/** Blocks of a stack: siblings from its first to its last group. */
export function stackSize(scene: Scene, parents: Int32Array, box: number): number {
  const [first, last] = [scene.ref[box] ?? 0, scene.last[box] ?? 0];
  let n = 0;
  for (let group = first; group <= last; group++) if (parents[group] === parents[first]) n += 1;
  return n;
}
