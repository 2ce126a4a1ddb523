/**
 * Frames around what one segment computes, in a hue of the segment's own, each with its number, work, and the bytes that come
 * in and go out. A frame never covers a box of another segment: where segments interleave, one has several frames.
 */
import type { RouteView } from "../../main/contract/views/route.ts";
import { BOX_KINDS } from "../graph/lift.ts";
import type { Rect } from "../graph/gridIndex.ts";
import type { Scene } from "../graph/scene.ts";
import { bytes } from "../ui/format.ts";
import type { DrawContext, DrawInput } from "./drawInput.ts";
import { px, widthOf } from "./drawText.ts";
import { boundsOf } from "./lod.ts";

export interface SegmentFrame extends Rect {
  readonly segment: number;
  /** The number is said once, on the segment's first frame. */
  readonly label: string;
}

const ROOM = { side: 12, top: 20, bottom: 8 } as const;

/** Hues in an order that keeps neighbours apart; muted, because full colours are for devices. */
const HUES = [172, 48, 285, 100, 330, 200, 70, 255] as const;
export const segmentColor = (segment: number): string => `hsl(${HUES[segment % HUES.length] ?? 0} 38% 54%)`;

/** `segmentsOf`: the segments of the ops in each box. `labelOf`: the words of a segment. */
export function segmentFrames(
  scene: Scene,
  segmentsOf: readonly (readonly number[])[],
  labelOf: (segment: number) => string,
): readonly SegmentFrame[] {
  const families = new Map<number, number[]>();
  for (let box = 0; box < scene.boxCount; box++) {
    const parent = scene.parent[box] ?? -1;
    // What lies in a frame of one segment is said by the frame around that.
    if (parent >= 0 && segmentsOf[parent]?.length === 1) continue;
    const list = families.get(parent);
    if (list === undefined) families.set(parent, [box]);
    else list.push(box);
  }
  const frames: SegmentFrame[] = [];
  const named = new Set<number>();
  for (const boxes of families.values()) {
    const bySegment = new Map<number, number[]>();
    for (const box of boxes) {
      const [segment, more] = segmentsOf[box] ?? [];
      if (segment === undefined || more !== undefined) continue;
      const own = bySegment.get(segment);
      if (own === undefined) bySegment.set(segment, [box]);
      else own.push(box);
    }
    for (const [segment, own] of bySegment) {
      const foreign = boxes.filter((box) => segmentsOf[box]?.length !== 1 || segmentsOf[box]?.[0] !== segment);
      for (const rect of unions(scene, own, foreign)) {
        frames.push({ ...rect, segment, label: named.has(segment) ? "" : labelOf(segment) });
        named.add(segment);
      }
    }
  }
  return frames;
}

/** As few rectangles as the order of the program allows; between their boxes lies no foreign one. */
function unions(scene: Scene, own: readonly number[], foreign: readonly number[]): readonly Rect[] {
  const rects: Rect[] = [];
  for (const box of own) {
    const padded = roomAround(scene, box);
    const last = rects.at(-1);
    const both = last === undefined ? padded : around(last, padded);
    const bare = last === undefined ? padded : shrunk(both);
    // In a map a box at the top of the next column is far from the last one.
    const far = last !== undefined && padded.x > last.x + last.w && padded.y + padded.h < last.y + last.h;
    if (last === undefined || far || foreign.some((other) => touches(scene, other, bare))) rects.push(padded);
    else rects[rects.length - 1] = both;
  }
  return rects;
}

function roomAround(scene: Scene, box: number): Rect {
  const lip = scene.kind[box] === BOX_KINDS.stack ? 9 : 0;
  return {
    x: (scene.x[box] ?? 0) - ROOM.side,
    y: (scene.y[box] ?? 0) - ROOM.top - lip,
    w: (scene.w[box] ?? 0) + 2 * ROOM.side,
    h: (scene.h[box] ?? 0) + ROOM.top + ROOM.bottom + lip,
  };
}

const shrunk = ({ x, y, w, h }: Rect): Rect => ({
  x: x + ROOM.side,
  y: y + ROOM.top,
  w: w - 2 * ROOM.side,
  h: h - ROOM.top - ROOM.bottom,
});

function around(a: Rect, b: Rect): Rect {
  const [x, y] = [Math.min(a.x, b.x), Math.min(a.y, b.y)];
  return { x, y, w: Math.max(a.x + a.w, b.x + b.w) - x, h: Math.max(a.y + a.h, b.y + b.h) - y };
}

const touches = (scene: Scene, box: number, { x, y, w, h }: Rect): boolean =>
  (scene.x[box] ?? 0) < x + w &&
  (scene.x[box] ?? 0) + (scene.w[box] ?? 0) > x &&
  (scene.y[box] ?? 0) < y + h &&
  (scene.y[box] ?? 0) + (scene.h[box] ?? 0) > y;

/** "2 · ANE · ~84 % · in 4.1 KB · out 2 KB" */
export const segmentLabel =
  (route: RouteView, work: (segment: RouteView["segments"][number]) => string) =>
  (index: number): string => {
    const segment = route.segments[index];
    if (segment === undefined) return String(index + 1);
    return [
      String(index + 1),
      segment.device.toUpperCase(),
      work(segment),
      `in ${bytes(segment.bytesIn)}`,
      `out ${bytes(segment.bytesOut)}`,
    ].join(" · ");
  };

/** About six and a half units a letter at the size of a label. */
const widthOfLabel = (label: string): number => label.length * 6.6 + 8;

/** Where the words of a frame lie: at its head, or beside it where they are longer than the frame is wide. */
function labelRect({ x, y, w, label }: SegmentFrame): Rect {
  const width = widthOfLabel(label);
  return { x: width <= w - 16 ? x + 6 : x + w + 4, y: y + 2, w: width, h: 17 };
}

/** Hops keep out of the way of these. */
export const labelRects = (frames: readonly SegmentFrame[]): readonly Rect[] =>
  frames.filter(({ label }) => label !== "").map(labelRect);

/** What a view of everything has to hold: the boxes, their frames, and words that lie beside a frame. */
export function boundsWithFrames(scene: Scene, frames: readonly SegmentFrame[]): Rect {
  return [...frames, ...labelRects(frames)].reduce(around, boundsOf(scene));
}

const isIn = ({ view }: DrawInput, { x, y, w, h }: Rect): boolean =>
  x < view.x + view.w && x + w > view.x && y < view.y + view.h && y + h > view.y;

export function drawSegmentFrames(context: DrawContext, input: DrawInput): void {
  for (const frame of input.segments) {
    if (!isIn(input, frame)) continue;
    const color = segmentColor(frame.segment);
    context.beginPath();
    context.roundRect(frame.x, frame.y, frame.w, frame.h, 10);
    context.fillStyle = color;
    context.globalAlpha = 0.13;
    context.fill();
    context.globalAlpha = 0.75;
    context.strokeStyle = color;
    context.lineWidth = px(input, 1.2);
    context.stroke();
    context.globalAlpha = 1;
  }
}

/** After the edges, which would run through the words. */
export function drawSegmentLabels(context: DrawContext, input: DrawInput): void {
  const { colors, viewport } = input;
  if (viewport.zoom < 0.25) return;
  const size = Math.min(14, Math.max(11, px(input, 10)));
  for (const frame of input.segments) {
    if (frame.label === "" || !isIn(input, labelRect(frame))) continue;
    context.font = `600 ${size}px ${colors.font}`;
    const { x, y } = labelRect(frame);
    context.fillStyle = colors.panel;
    context.globalAlpha = 0.85;
    context.fillRect(x, y, widthOf(context, frame.label) + 8, size + 4);
    context.globalAlpha = 1;
    context.fillStyle = colors.ink;
    context.fillText(frame.label, x + 4, y + size);
  }
}
