/** Level of detail by zoom, and which boxes stand as real elements: few enough for a browser, with room to pan. */
import type { GridIndex, Rect } from "../graph/gridIndex.ts";
import type { Scene } from "../graph/scene.ts";

export const ZOOM = { min: 0.005, max: 2.5 } as const;

/**
 * tiles: colours only · boxes: outlines with a bar, no text · names: text on the canvas · cards: elements of two lines ·
 * full: and shapes.
 */
export type Detail = "tiles" | "boxes" | "names" | "cards" | "full";

export function detailAt(zoom: number): Detail {
  if (zoom < 0.15) return "tiles";
  if (zoom < 0.25) return "boxes";
  if (zoom < 0.7) return "names";
  return zoom < 1.2 ? "cards" : "full";
}

export const hasCards = (detail: Detail): boolean => detail === "cards" || detail === "full";

/** Elements that may be mounted at a time. */
export const MAX_CARDS = 250;
const OVERSCAN = [0.5, 0.15, 0] as const;

export interface CardWindow {
  readonly rect: Rect;
  readonly boxes: readonly number[];
}

/** The boxes to mount around a view, with as much overscan as the budget allows; null when not even the view fits. */
export function cardWindow(index: GridIndex, view: Rect): CardWindow | null {
  for (const overscan of OVERSCAN) {
    const rect = grow(view, overscan);
    const boxes = index.query(rect);
    if (boxes.length <= MAX_CARDS) return { rect, boxes };
  }
  return null;
}

function grow({ x, y, w, h }: Rect, by: number): Rect {
  return { x: x - w * by, y: y - h * by, w: w * (1 + 2 * by), h: h * (1 + 2 * by) };
}

/** Hysteresis: a window is kept while the view stays inside it. */
export function stillInside(window: Rect, view: Rect): boolean {
  return (
    view.x >= window.x &&
    view.y >= window.y &&
    view.x + view.w <= window.x + window.w &&
    view.y + view.h <= window.y + window.h
  );
}

export interface Viewport {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

/** The part of the world that a viewport shows. */
export function worldRect({ x, y, zoom }: Viewport, width: number, height: number): Rect {
  return { x: -x / zoom, y: -y / zoom, w: width / zoom, h: height / zoom };
}

/** The viewport that shows a rectangle, with a margin in pixels, never larger than `most`. */
export function fitViewport(rect: Rect, width: number, height: number, margin: number, most: number): Viewport {
  const zoom = Math.min(
    most,
    Math.max(
      ZOOM.min,
      Math.min((width - 2 * margin) / Math.max(1, rect.w), (height - 2 * margin) / Math.max(1, rect.h)),
    ),
  );
  return { zoom, x: width / 2 - (rect.x + rect.w / 2) * zoom, y: height / 2 - (rect.y + rect.h / 2) * zoom };
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export const boundsOf = (scene: Scene): Rect => ({ x: scene.left, y: 0, w: scene.width, h: scene.height });
