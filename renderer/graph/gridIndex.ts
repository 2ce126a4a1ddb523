/** Which boxes lie in a rectangle: a uniform grid in CSR form. Large boxes (frames) are kept apart. */
export interface Boxed {
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly w: Float32Array;
  readonly h: Float32Array;
}
export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export interface GridIndex {
  /** Boxes that touch the rectangle, in ascending order. */
  query(rect: Rect): readonly number[];
  /** The last (topmost) box that holds the point, or -1. */
  hit(x: number, y: number): number;
}

const CELL = 512;
/** A box over more cells than this is looked at in every query instead. */
const MAX_CELLS = 16;
/** Rectangles whose boxes are kept: the tiles of a screen are asked for again with every colour. */
const KEPT = 64;

export function createGridIndex(boxes: Boxed): GridIndex {
  const count = boxes.x.length;
  const cellOf = (value: number): number => Math.floor(value / CELL);
  const cells = new Map<number, number[]>();
  const large: number[] = [];
  // Rows and columns may be negative; 2^20 cells to each side are more than a picture can have.
  const key = (column: number, row: number): number => (row + 0x100000) * 0x200000 + (column + 0x100000);
  for (let box = 0; box < count; box++) {
    const [x, y, w, h] = [boxes.x[box] ?? 0, boxes.y[box] ?? 0, boxes.w[box] ?? 0, boxes.h[box] ?? 0];
    const [left, right, top, bottom] = [cellOf(x), cellOf(x + w), cellOf(y), cellOf(y + h)];
    if ((right - left + 1) * (bottom - top + 1) > MAX_CELLS) {
      large.push(box);
      continue;
    }
    for (let row = top; row <= bottom; row++)
      for (let column = left; column <= right; column++) {
        const list = cells.get(key(column, row));
        if (list === undefined) cells.set(key(column, row), [box]);
        else list.push(box);
      }
  }
  const touches = (box: number, rect: Rect): boolean =>
    (boxes.x[box] ?? 0) <= rect.x + rect.w &&
    (boxes.x[box] ?? 0) + (boxes.w[box] ?? 0) >= rect.x &&
    (boxes.y[box] ?? 0) <= rect.y + rect.h &&
    (boxes.y[box] ?? 0) + (boxes.h[box] ?? 0) >= rect.y;

  const bounds = boundsOf(boxes);
  let everything: readonly number[] | undefined;

  // In the order of their last use.
  const kept = new Map<string, readonly number[]>();
  const query = (rect: Rect): readonly number[] => {
    // A map of the whole is asked for with every colour: nothing has to be looked for.
    if (covers(rect, bounds)) return (everything ??= Array.from({ length: count }, (_, box) => box));
    const name = `${rect.x} ${rect.y} ${rect.w} ${rect.h}`;
    const boxes = kept.get(name) ?? search(rect);
    kept.delete(name);
    kept.set(name, boxes);
    for (const oldest of kept.keys()) {
      if (kept.size <= KEPT) break;
      kept.delete(oldest);
    }
    return boxes;
  };

  /** By box, the last search that found it: one in several cells is listed once. */
  const seen = new Uint32Array(count);
  let turn = 0;
  const search = (rect: Rect): readonly number[] => {
    turn++;
    const found = large.filter((box) => touches(box, rect));
    const [left, right, top, bottom] = [
      cellOf(rect.x),
      cellOf(rect.x + rect.w),
      cellOf(rect.y),
      cellOf(rect.y + rect.h),
    ];
    // A rectangle over more cells than there are: walk the cells that exist.
    const walk = (list: readonly number[]): void => {
      for (const box of list) {
        if (seen[box] === turn || !touches(box, rect)) continue;
        seen[box] = turn;
        found.push(box);
      }
    };
    if ((right - left + 1) * (bottom - top + 1) > cells.size) for (const list of cells.values()) walk(list);
    else
      for (let row = top; row <= bottom; row++)
        for (let column = left; column <= right; column++) walk(cells.get(key(column, row)) ?? []);
    // Typed arrays sort numbers without asking.
    return Array.from(Uint32Array.from(found).sort());
  };
  // Points of a pointer are not kept.
  return { query, hit: (x, y) => search({ x, y, w: 0, h: 0 }).at(-1) ?? -1 };
}

interface Bounds {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

function boundsOf({ x, y, w, h }: Boxed): Bounds {
  const bounds = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (let box = 0; box < x.length; box++) {
    const [left, top] = [x[box] ?? 0, y[box] ?? 0];
    bounds.left = Math.min(bounds.left, left);
    bounds.top = Math.min(bounds.top, top);
    bounds.right = Math.max(bounds.right, left + (w[box] ?? 0));
    bounds.bottom = Math.max(bounds.bottom, top + (h[box] ?? 0));
  }
  return bounds;
}

const covers = (rect: Rect, { left, top, right, bottom }: Bounds): boolean =>
  rect.x <= left && rect.y <= top && rect.x + rect.w >= right && rect.y + rect.h >= bottom;
