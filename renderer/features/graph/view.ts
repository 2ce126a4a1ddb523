/**
 * Where the view goes, as plain arithmetic: the first look at a picture, everything, a group that stays in its place while it
 * opens, a box that has to be on the screen, and a window that changes its size.
 */
import type { Rect } from "../../graph/gridIndex.ts";
import { opsOf } from "../../graph/graphModel.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import type { Scene } from "../../graph/scene.ts";
import type { Viewport } from "../../drawing/lod.ts";
import type { Size } from "../../drawing/lod.ts";
import { boundsOf, fitViewport, worldRect } from "../../drawing/lod.ts";
import { isSmall } from "./graphState.ts";
import type { ViewRequest } from "./graphState.ts";
import type { Picture } from "../../drawing/graphModes.ts";
import { boxOfGroup, nearestBoxOfGroup } from "../../drawing/walk.ts";

/** first, fit: chosen by the window, so it is chosen again when the window changes · free: the user has moved it. */
export type ViewMode = "first" | "fit" | "free";

export interface KeptView {
  readonly viewport: Viewport;
  readonly mode: ViewMode;
  /** The last request that was done. */
  readonly done: number;
}

/** A canvas, and how high the legend at its bottom is where that is known. */
export interface Canvas extends Size {
  readonly legendHeight?: number;
}

/** Room for the bar at the top and the legend at the bottom, which has a second row where there is room for it. */
export const BAR_ROOM = 56;
/** Of the legend from the lower edge, and of the picture from the legend. */
const LEGEND_GAPS = 14 + 8;
const legendRoom = ({ width, height, legendHeight = 0 }: Canvas): number =>
  legendHeight > 0 ? legendHeight + LEGEND_GAPS : isSmall(width, height) ? 56 : 80;
const MARGIN = 16;

/** On a large canvas a small picture may be larger than life. */
const mostZoom = ({ width, height }: Size): number => Math.min(1.6, Math.max(1, Math.min(width / 1200, height / 800)));

/** A canvas of this size has room for one level more than a folded graph. */
const LARGE = { width: 1500, height: 900 } as const;

/** The closed groups of the outermost level that has any, where a large canvas shows all of a picture in its full size. */
export function nextLevel({ scene, model }: Picture, size: Size): readonly number[] {
  if (size.width < LARGE.width || size.height < LARGE.height || fitBetweenBars(scene, size).zoom < 1) return [];
  let depth = Infinity;
  const closed: number[] = [];
  for (let box = 0; box < scene.boxCount; box++)
    if (scene.kind[box] === BOX_KINDS.group || scene.kind[box] === BOX_KINDS.stack) {
      closed.push(box);
      depth = Math.min(depth, scene.depth[box] ?? 0);
    }
  return closed
    .filter((box) => scene.depth[box] === depth && opsOf(model, scene.ref[box] ?? 0) > 1)
    .map((box) => scene.ref[box] ?? 0);
}

/** The smallest zoom at which a first view still shows cards, and not only their outlines. */
export const READABLE_ZOOM = 0.7;
/** As large as a first view that does not hold everything may be. */
const FIRST_ZOOM = 0.9;

export const rectOfBox = (scene: Scene, box: number): Rect => ({
  x: scene.x[box] ?? 0,
  y: scene.y[box] ?? 0,
  w: scene.w[box] ?? 0,
  h: scene.h[box] ?? 0,
});

/** `bounds`: of all that is drawn, where that is more than the boxes. */
export function fitBetweenBars(scene: Scene, size: Canvas, bounds: Rect = boundsOf(scene)): Viewport {
  const { width, height } = size;
  const fitted = fitViewport(bounds, width, height - BAR_ROOM - legendRoom(size), MARGIN, mostZoom(size));
  return { ...fitted, y: fitted.y + BAR_ROOM };
}

/** Everything if it can be read that way; otherwise the beginning, in full width if that can be read. */
export function firstViewport(scene: Scene, size: Canvas, bounds: Rect = boundsOf(scene)): Viewport {
  // Where there is no room for the words beside the boxes, all boxes come first.
  for (const rect of [bounds, boundsOf(scene)]) {
    const fitted = fitBetweenBars(scene, size, rect);
    if (fitted.zoom >= READABLE_ZOOM) return fitted;
  }
  const wide = (size.width - 2 * MARGIN) / Math.max(1, scene.width);
  const zoom = Math.min(FIRST_ZOOM, Math.max(READABLE_ZOOM, wide));
  // The axis of the program in the middle, unless there is room for all of its width.
  const middle = scene.width * zoom <= size.width - 2 * MARGIN ? scene.left + scene.width / 2 : 0;
  return { zoom, x: size.width / 2 - middle * zoom, y: BAR_ROOM + 8 };
}

export const viewportFor = (mode: "first" | "fit", scene: Scene, size: Canvas, bounds?: Rect): Viewport =>
  mode === "first" ? firstViewport(scene, size, bounds) : fitBetweenBars(scene, size, bounds);

/** The middle of the view stays in the middle. */
export function keepMiddle(at: Viewport, before: Size, now: Size): Viewport {
  return { zoom: at.zoom, x: at.x + (now.width - before.width) / 2, y: at.y + (now.height - before.height) / 2 };
}

/** Keeps the opened box in place; pans sideways only to show all of it. Null if absent. */
export function anchored(old: Picture, picture: Picture, group: number, at: Viewport, size: Size): Viewport | null {
  const [from, to] = [anchorBox(old, group), anchorBox(picture, group)];
  if (from < 0 || to < 0) return null;
  const { scene } = picture;
  const wide = scene.kind[to] === BOX_KINDS.frame ? (scene.w[to] ?? 0) * at.zoom : 0;
  const x = at.x + ((old.scene.axis[from] ?? 0) - (scene.axis[to] ?? 0)) * at.zoom;
  const left = (scene.x[to] ?? 0) * at.zoom + x;
  const shift =
    wide === 0 || wide > size.width - 32 ? 0 : Math.max(0, 16 - left) - Math.max(0, left + wide - size.width + 16);
  return {
    zoom: at.zoom,
    x: x + shift,
    y: at.y + ((old.scene.y[from] ?? 0) - (scene.y[to] ?? 0)) * at.zoom,
  };
}

function anchorBox(picture: Picture, group: number): number {
  const box = boxOfGroup(picture.scene, group);
  return box >= 0 ? box : nearestBoxOfGroup(picture, group);
}

/** Moves the view as little as needed to have the box on the screen; null when it is there already. */
export function revealed(at: Viewport, size: Size, scene: Scene, box: number): Viewport | null {
  const view = worldRect(at, size.width, size.height);
  const { x, y, w, h } = rectOfBox(scene, box);
  const margin = 60 / at.zoom;
  const shift = (low: number, length: number, from: number, room: number): number =>
    low < from + margin
      ? low - from - margin
      : low + length > from + room - margin
        ? Math.min(low - from - margin, low + length - from - room + margin)
        : 0;
  const [dx, dy] = [shift(x, w, view.x, view.w), shift(y, h, view.y, view.h)];
  return dx === 0 && dy === 0 ? null : { x: at.x - dx * at.zoom, y: at.y - dy * at.zoom, zoom: at.zoom };
}

export type ViewTarget =
  | { readonly kind: "wait" }
  | { readonly kind: "whole"; readonly mode: "first" | "fit" }
  | { readonly kind: "reveal"; readonly box: number }
  | { readonly kind: "zoom"; readonly by: "in" | "out" }
  | { readonly kind: "rect"; readonly rect: Rect; readonly margin: number; readonly most: number };

export function requestTarget(picture: Picture, request: ViewRequest, selected: number): ViewTarget {
  const { scene } = picture;
  const rect = (of: Rect, margin: number, most: number): ViewTarget => ({ kind: "rect", rect: of, margin, most });
  switch (request.kind) {
    case "top":
      return { kind: "whole", mode: "first" };
    case "fit":
      return { kind: "whole", mode: "fit" };
    case "zoomIn":
      return { kind: "zoom", by: "in" };
    case "zoomOut":
      return { kind: "zoom", by: "out" };
    case "reveal":
      return request.ref < scene.boxCount ? { kind: "reveal", box: request.ref } : { kind: "wait" };
    case "fitSelection":
      return selected < 0 ? { kind: "whole", mode: "fit" } : rect(rectOfBox(scene, selected), 120, 1.3);
    case "showGroup": {
      const box = boxOfGroup(scene, request.ref);
      return box < 0 ? { kind: "wait" } : rect(rectOfBox(scene, box), 120, 1);
    }
    case "showNode": {
      const box = scene.boxOfNode[request.ref] ?? -1;
      if (box < 0 || scene.kind[box] !== BOX_KINDS.op) return { kind: "wait" };
      const { x, y, w, h } = rectOfBox(scene, box);
      return rect({ x: x - 200, y: y - 200, w: w + 400, h: h + 400 }, 20, 1);
    }
  }
}

/** Whether a view shows the whole picture: then a minimap is useless. */
export function showsEverything(scene: Scene, at: Viewport, size: Size): boolean {
  const view = worldRect(at, size.width, size.height);
  return (
    view.x <= scene.left + 1 &&
    view.y <= 1 &&
    view.x + view.w >= scene.left + scene.width - 1 &&
    view.y + view.h >= scene.height - 1
  );
}
