/**
 * A map of ten thousand boxes as square tiles of pixels: each is drawn once, when it first comes into view, then moved while
 * panning and stretched while zooming. When a stretched view has come to rest its tiles are drawn anew. One cache serves one
 * look of one picture.
 */
import type { Rect } from "../../graph/gridIndex.ts";
import type { Viewport } from "../../drawing/lod.ts";
import type { Size } from "../../drawing/lod.ts";

/** How to draw a part of the world; null where there is nothing to draw. */
export type DrawPart = (part: Rect, zoom: number) => ((context: OffscreenCanvasRenderingContext2D) => void) | null;

export interface TileCache {
  /** exact: equal to a fresh drawing · stretched: to be drawn again when the view rests. */
  show(
    target: CanvasRenderingContext2D,
    at: Viewport,
    size: Size,
    ratio: number,
    drawPart: DrawPart,
  ): "exact" | "stretched";
  /** The next time all is drawn anew. */
  refresh(): void;
}

/** Pixels of the screen on each side: a row of new ones is drawn within a frame. */
const SIDE = 256;
/** Stretched further than this, tiles are unreadable. */
const MOST_STRETCH = 2;
/** Kept in all, as a multiple of those in view. */
const KEPT = 3;
/** Pixels by which a drawing may exceed its box. */
const BLEED = 4;

/** `bounds`: outside of it there is nothing to draw. */
export function createTileCache(bounds: Rect): TileCache {
  // In the order of their last use.
  const tiles = new Map<string, OffscreenCanvas>();
  // Empty tiles: known, without pixels.
  const empty = new Set<string>();
  let zoom = 0;
  let scale = 1;
  let stale = false;

  /** Whole pixels of the device, which need not be whole ones of the page. */
  const pixels = (): number => Math.round(SIDE * scale);

  /** The part of the world in a tile, with a margin for drawings that exceed their boxes. */
  const partOf = (column: number, row: number): Rect => {
    const side = pixels() / scale;
    return {
      x: (column * side - BLEED) / zoom,
      y: (row * side - BLEED) / zoom,
      w: (side + 2 * BLEED) / zoom,
      h: (side + 2 * BLEED) / zoom,
    };
  };

  const drawTile = (column: number, row: number, drawPart: DrawPart): OffscreenCanvas | null => {
    const part = partOf(column, row);
    const draw = touches(part, bounds) ? drawPart(part, zoom) : null;
    if (draw === null) return null;
    const side = pixels();
    const canvas = new OffscreenCanvas(side, side);
    const context = canvas.getContext("2d");
    if (context === null) return null;
    context.setTransform(zoom * scale, 0, 0, zoom * scale, -column * side, -row * side);
    draw(context);
    return canvas;
  };

  const tileAt = (column: number, row: number, drawPart: DrawPart): OffscreenCanvas | null => {
    const key = `${column} ${row}`;
    if (empty.has(key)) return null;
    const tile = tiles.get(key) ?? drawTile(column, row, drawPart);
    tiles.delete(key);
    if (tile === null) empty.add(key);
    else tiles.set(key, tile);
    return tile;
  };

  return {
    show(target, at, size, ratio, drawPart) {
      const stretched = at.zoom / zoom;
      if (stale || scale !== ratio || !(stretched <= MOST_STRETCH && stretched >= 1 / MOST_STRETCH)) {
        tiles.clear();
        empty.clear();
        [zoom, scale, stale] = [at.zoom, ratio, false];
      }
      const stretch = at.zoom / zoom;
      const side = pixels() * stretch;
      const edge = (index: number, shift: number): number => Math.round(shift * ratio + index * side);
      const range = (shift: number, length: number) =>
        [Math.floor((-shift * ratio) / side), Math.floor(((length - shift) * ratio) / side)] as const;
      const [left, right] = range(at.x, size.width);
      const [top, bottom] = range(at.y, size.height);
      target.setTransform(1, 0, 0, 1, 0, 0);
      for (let row = top; row <= bottom; row++)
        for (let column = left; column <= right; column++) {
          const tile = tileAt(column, row, drawPart);
          if (tile === null) continue;
          // Borders on whole pixels, or seams would show.
          const [x, y] = [edge(column, at.x), edge(row, at.y)];
          target.drawImage(tile, x, y, edge(column + 1, at.x) - x, edge(row + 1, at.y) - y);
        }
      // Stretched ones are drawn anew soon.
      const most = (stretch === 1 ? KEPT : 1) * (right - left + 1) * (bottom - top + 1);
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
