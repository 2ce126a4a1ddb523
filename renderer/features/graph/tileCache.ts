/**
 * A map of ten thousand boxes as square tiles of pixels: each is drawn once, when it first comes into view, then moved while
 * panning and stretched while zooming. When a stretched view has come to rest its tiles are drawn anew. One cache serves one
 * look of one picture.
 */
import type { Rect } from "../../graph/gridIndex.ts";
import type { Viewport } from "./lod.ts";
import type { Size } from "./view.ts";

export type RenderTile = (context: OffscreenCanvasRenderingContext2D, zoom: number, part: Rect) => void;

export interface TileCache {
  /** exact: what stands there is what would be drawn now · stretched: it should be drawn again when the view rests. */
  show(
    target: CanvasRenderingContext2D,
    at: Viewport,
    size: Size,
    ratio: number,
    render: RenderTile,
  ): "exact" | "stretched";
  /** The next time all is drawn anew. */
  refresh(): void;
}

/** Pixels of the screen on each side: a row of new ones is drawn within a frame. */
const SIDE = 256;
/** Stretched further than this they would say nothing. */
const MOST_STRETCH = 2;
/** Kept beside those in view, as a multiple of their number. */
const KEPT = 3;
/** Pixels that what is drawn of a box may stand out of it. */
const BLEED = 4;

/** `bounds`: outside of it there is nothing to draw. */
export function createTileCache(bounds: Rect): TileCache {
  // In the order of their last use.
  const tiles = new Map<string, OffscreenCanvas>();
  let zoom = 0;
  let scale = 1;
  let stale = false;

  /** The part of the world in a tile, and what stands out of boxes beside it. */
  const partOf = (column: number, row: number): Rect => ({
    x: (column * SIDE - BLEED) / zoom,
    y: (row * SIDE - BLEED) / zoom,
    w: (SIDE + 2 * BLEED) / zoom,
    h: (SIDE + 2 * BLEED) / zoom,
  });

  const tileAt = (column: number, row: number, render: RenderTile): OffscreenCanvas | null => {
    const key = `${column} ${row}`;
    const known = tiles.get(key);
    if (known !== undefined) {
      tiles.delete(key);
      tiles.set(key, known);
      return known;
    }
    const part = partOf(column, row);
    if (!touches(part, bounds)) return null;
    const canvas = new OffscreenCanvas(Math.round(SIDE * scale), Math.round(SIDE * scale));
    const context = canvas.getContext("2d");
    if (context === null) return null;
    const pixels = zoom * scale;
    context.setTransform(pixels, 0, 0, pixels, -column * canvas.width, -row * canvas.height);
    render(context, zoom, part);
    tiles.set(key, canvas);
    return canvas;
  };

  return {
    show(target, at, size, ratio, render) {
      const stretched = at.zoom / zoom;
      if (stale || scale !== ratio || !(stretched <= MOST_STRETCH && stretched >= 1 / MOST_STRETCH)) {
        tiles.clear();
        [zoom, scale, stale] = [at.zoom, ratio, false];
      }
      const stretch = at.zoom / zoom;
      const side = Math.round(SIDE * scale) * stretch;
      const edge = (index: number, shift: number): number => Math.round(shift * ratio + index * side);
      const range = (shift: number, length: number) =>
        [Math.floor((-shift * ratio) / side), Math.floor(((length - shift) * ratio) / side)] as const;
      const [left, right] = range(at.x, size.width);
      const [top, bottom] = range(at.y, size.height);
      target.setTransform(1, 0, 0, 1, 0, 0);
      for (let row = top; row <= bottom; row++)
        for (let column = left; column <= right; column++) {
          const tile = tileAt(column, row, render);
          if (tile === null) continue;
          // Borders on whole pixels, or seams would show.
          const [x, y] = [edge(column, at.x), edge(row, at.y)];
          target.drawImage(tile, x, y, edge(column + 1, at.x) - x, edge(row + 1, at.y) - y);
        }
      const most = KEPT * (right - left + 1) * (bottom - top + 1);
      for (const key of tiles.keys()) {
        if (tiles.size <= most) break;
        tiles.delete(key);
      }
      return stretch === 1 ? "exact" : "stretched";
    },
    refresh() {
      stale = true;
    },
  };
}

const touches = (a: Rect, b: Rect): boolean =>
  a.x <= b.x + b.w && a.x + a.w >= b.x && a.y <= b.y + b.h && a.y + a.h >= b.y;
