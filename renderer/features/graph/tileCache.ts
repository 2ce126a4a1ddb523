/**
 * A map of ten thousand boxes as a picture: drawn once with room around the view, then moved while panning and stretched while
 * zooming, and drawn again when the view has come to rest or has left it. One cache serves one look of one picture.
 */
import type { Rect } from "../../graph/gridIndex.ts";
import type { Viewport } from "./lod.ts";
import { worldRect } from "./lod.ts";
import type { Size } from "./view.ts";

export interface TileCache {
  /** exact: what stands there is what would be drawn now · stretched: it should be drawn again when the view rests. */
  show(
    target: CanvasRenderingContext2D,
    at: Viewport,
    size: Size,
    ratio: number,
    render: (context: OffscreenCanvasRenderingContext2D, at: Viewport, view: Rect) => void,
  ): "exact" | "stretched";
  /** The next time it is drawn anew. */
  refresh(): void;
}

/** Room around the view, as a part of it on each side. */
const AROUND = 0.5;
/** Stretched further than this it would say nothing. */
const MOST_STRETCH = 2;

export function createTileCache(): TileCache {
  let canvas: OffscreenCanvas | null = null;
  let drawn: { readonly at: Viewport; readonly rect: Rect } | null = null;
  let stale = false;

  const usable = (at: Viewport, view: Rect): boolean => {
    if (drawn === null || stale) return false;
    const stretch = at.zoom / drawn.at.zoom;
    return stretch <= MOST_STRETCH && stretch >= 1 / MOST_STRETCH && holds(drawn.rect, view);
  };

  return {
    show(target, at, size, ratio, render) {
      const view = worldRect(at, size.width, size.height);
      if (!usable(at, view)) {
        const [width, height] = [size.width * (1 + 2 * AROUND), size.height * (1 + 2 * AROUND)];
        const own = { zoom: at.zoom, x: at.x + size.width * AROUND, y: at.y + size.height * AROUND };
        const pixels = [Math.round(width * ratio), Math.round(height * ratio)] as const;
        if (canvas?.width !== pixels[0] || canvas.height !== pixels[1]) canvas = new OffscreenCanvas(...pixels);
        const context = canvas.getContext("2d");
        if (context === null) return "exact";
        const rect = worldRect(own, width, height);
        context.setTransform(1, 0, 0, 1, 0, 0);
        context.clearRect(0, 0, ...pixels);
        context.setTransform(own.zoom * ratio, 0, 0, own.zoom * ratio, own.x * ratio, own.y * ratio);
        render(context, own, rect);
        drawn = { at: own, rect };
        stale = false;
      }
      if (canvas === null || drawn === null) return "exact";
      const stretch = at.zoom / drawn.at.zoom;
      target.setTransform(1, 0, 0, 1, 0, 0);
      target.drawImage(
        canvas,
        (at.x - drawn.at.x * stretch) * ratio,
        (at.y - drawn.at.y * stretch) * ratio,
        canvas.width * stretch,
        canvas.height * stretch,
      );
      return stretch === 1 ? "exact" : "stretched";
    },
    refresh() {
      stale = true;
    },
  };
}

const holds = (outer: Rect, inner: Rect): boolean =>
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.w <= outer.x + outer.w &&
  inner.y + inner.h <= outer.y + outer.h;
