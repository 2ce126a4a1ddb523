/**
 * A long strip of ranks broken into columns, like a newspaper: read down, then on at the top of the next one. The number of
 * columns is the one that makes the whole largest in a window of the given shape. Edges over a break go round the column's end.
 */
import type { LocalLayout, LocalSize } from "./layers.ts";

export interface ColumnLayout extends LocalLayout {
  /** Per edge: 1 where it leads from one column to the next. */
  readonly turns: Uint8Array;
  readonly columns: number;
}

/** Above and below all columns, where edges turn; between columns, where they go back up. */
const TURN = 48;
const GUTTER = 72;
const LANE = 8;
const MAX_COLUMNS = 400;

/** One rank: from its top to its bottom, and how far it reaches from the axis. */
interface Band {
  readonly top: number;
  bottom: number;
  left: number;
  right: number;
}

interface Column {
  readonly first: number;
  readonly end: number;
  readonly left: number;
  readonly right: number;
  readonly height: number;
}

export function breakIntoColumns(local: LocalLayout, sizes: readonly LocalSize[], aspect: number): ColumnLayout {
  const bands = bandsOf(local, sizes);
  const columns = bestColumns(bands, aspect);
  if (columns.length < 2) return { ...local, turns: new Uint8Array(local.routes.length), columns: 1 };
  const place = placeColumns(bands, columns);
  const x = local.x.map((at, i) => at + place.of(local.y[i] ?? 0).dx);
  const y = local.y.map((at) => at + place.of(at).dy);
  const lanes = new Uint32Array(columns.length);
  const turns = new Uint8Array(local.routes.length);
  const routes = local.routes.map((route, i) => {
    const points: number[] = [];
    for (let k = 0; k < route.length; k += 2) {
      const [px, py] = [route[k] ?? 0, route[k + 1] ?? 0];
      const at = place.of(py);
      const before = k === 0 ? at : place.of(route[k - 1] ?? 0);
      if (before.column !== at.column) {
        const lane = (lanes[before.column] ?? 0) % 3;
        lanes[before.column] = lane + 1;
        turns[i] = 1;
        const [down, up] = [before.bottom + TURN / 2 + lane * LANE, TURN / 2 - lane * LANE];
        const gutter = before.right + GUTTER / 2 + (lane - 1) * LANE;
        points.push(points.at(-2) ?? 0, down, gutter, down, gutter, up, px + at.dx, up);
      }
      points.push(px + at.dx, py + at.dy);
    }
    return Float64Array.from(points);
  });
  return {
    ...local,
    x,
    y,
    routes,
    turns,
    columns: columns.length,
    left: place.left,
    right: place.right,
    height: place.height,
  };
}

/** Ranks never overlap in height, so members that do belong to one rank. */
function bandsOf(local: LocalLayout, sizes: readonly LocalSize[]): readonly Band[] {
  const order = [...local.y.keys()].sort((a, b) => (local.y[a] ?? 0) - (local.y[b] ?? 0));
  const bands: Band[] = [];
  for (const i of order) {
    const [axis, top] = [local.x[i] ?? 0, local.y[i] ?? 0];
    const size = sizes[i] ?? { left: 0, right: 0, height: 0, extra: 0 };
    const [left, right, bottom] = [size.left - axis, axis + size.right + size.extra, top + size.height];
    const last = bands.at(-1);
    if (last === undefined || top >= last.bottom) bands.push({ top, bottom, left, right });
    else {
      last.bottom = Math.max(last.bottom, bottom);
      last.left = Math.max(last.left, left);
      last.right = Math.max(last.right, right);
    }
  }
  return bands;
}

function bestColumns(bands: readonly Band[], aspect: number): readonly Column[] {
  const total = (bands.at(-1)?.bottom ?? 0) - (bands[0]?.top ?? 0);
  let best: readonly Column[] = [];
  let bestScale = 0;
  // A little more height than the mean may spare a last column with next to nothing in it.
  const heights = Array.from({ length: Math.min(bands.length, MAX_COLUMNS) }, (_, i) => total / (i + 1)).flatMap(
    (height) => [height, height * 1.03, height * 1.08],
  );
  for (const wanted of heights) {
    const columns = fill(bands, wanted);
    const width = columns.reduce((sum, column) => sum + column.left + column.right + GUTTER, -GUTTER);
    const height = columns.reduce((most, column) => Math.max(most, column.height), 0) + 2 * TURN;
    // Among nearly equal choices, the one whose last column is as full as the others.
    const full = (columns.at(-1)?.height ?? 0) / Math.max(1, height - 2 * TURN);
    const scale = Math.min(aspect / width, 1 / height) * (0.95 + 0.05 * full);
    if (scale > bestScale) [best, bestScale] = [columns, scale];
  }
  return best;
}

/** Ranks one after the other into columns that are not much higher than asked for. */
function fill(bands: readonly Band[], height: number): readonly Column[] {
  const columns: Column[] = [];
  let first = 0;
  let [left, right] = [0, 0];
  bands.forEach((band, i) => {
    left = Math.max(left, band.left);
    right = Math.max(right, band.right);
    const top = bands[first]?.top ?? 0;
    const next = bands[i + 1];
    // Half of the next rank may stick out: then the columns are even on average.
    if (next !== undefined && (band.bottom + next.bottom) / 2 - top < height) return;
    columns.push({ first, end: i + 1, left, right, height: band.bottom - top });
    first = i + 1;
    [left, right] = [0, 0];
  });
  return columns;
}

interface Shift {
  readonly column: number;
  readonly dx: number;
  readonly dy: number;
  readonly bottom: number;
  readonly right: number;
}

function placeColumns(
  bands: readonly Band[],
  columns: readonly Column[],
): { readonly of: (y: number) => Shift; readonly left: number; readonly right: number; readonly height: number } {
  const shifts: Shift[] = [];
  let axis = 0;
  let right = 0;
  columns.forEach((column, i) => {
    const before = columns[i - 1];
    axis = before === undefined ? 0 : right + GUTTER + column.left;
    right = axis + column.right;
    const dy = TURN - (bands[column.first]?.top ?? 0);
    shifts.push({ column: i, dx: axis, dy, bottom: TURN + column.height, right });
  });
  const tops = columns.map((column) => bands[column.first]?.top ?? 0);
  const none: Shift = { column: 0, dx: 0, dy: 0, bottom: 0, right: 0 };
  return {
    of(y) {
      let [low, high] = [0, tops.length - 1];
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if ((tops[middle] ?? 0) <= y + 1e-6) low = middle;
        else high = middle - 1;
      }
      return shifts[low] ?? none;
    },
    left: columns[0]?.left ?? 0,
    right,
    height: 2 * TURN + columns.reduce((most, column) => Math.max(most, column.height), 0),
  };
}
