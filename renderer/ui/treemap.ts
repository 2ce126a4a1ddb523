/**
 * Squarified treemaps (Bruls, Huizing, van Wijk 2000): a box cut into rectangles whose areas are in proportion to weights, each
 * as near to a square as rows of them allow.
 */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const EMPTY: Box = { x: 0, y: 0, width: 0, height: 0 };

/** A rectangle for each weight, in their order. Weights of nothing, and all where the box is empty, get an empty one. */
export function treemap(weights: readonly number[], box: Box): readonly Box[] {
  const made: Box[] = weights.map(() => ({ ...EMPTY, x: box.x, y: box.y }));
  const order = weights.map((_, i) => i).filter((i) => (weights[i] ?? 0) > 0);
  // Large ones first; equal ones stay in their order.
  order.sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0));
  let rest = order.reduce((sum, i) => sum + (weights[i] ?? 0), 0);
  let { x, y, width, height } = box;
  if (!(rest > 0) || width <= 0 || height <= 0) return made;
  for (let from = 0; from < order.length;) {
    const perWeight = (width * height) / rest;
    const side = Math.min(width, height);
    const to = rowEnd(from, order.length, side, (at) => (weights[order[at] ?? 0] ?? 0) * perWeight);
    const row = order.slice(from, to);
    const weight = row.reduce((sum, i) => sum + (weights[i] ?? 0), 0);
    // The last row takes all that is left, so that no rounding leaves a gap.
    const depth = to === order.length ? Math.max(width, height) : (weight * perWeight) / side;
    let along = 0;
    for (const i of row) {
      const length = ((weights[i] ?? 0) / weight) * side;
      made[i] =
        width >= height
          ? { x, y: y + along, width: depth, height: length }
          : { x: x + along, y, width: length, height: depth };
      along += length;
    }
    if (width >= height) [x, width] = [x + depth, width - depth];
    else [y, height] = [y + depth, height - depth];
    rest -= weight;
    from = to;
  }
  return made;
}

/** A row grows as long as its worst rectangle gets no longer. */
function rowEnd(from: number, end: number, side: number, areaOf: (at: number) => number): number {
  let [sum, worst] = [0, Infinity];
  const largest = areaOf(from);
  for (let at = from; at < end; at++) {
    sum += areaOf(at);
    const square = side * side;
    const now = Math.max((square * largest) / (sum * sum), (sum * sum) / (square * areaOf(at)));
    if (now > worst) return at;
    worst = now;
  }
  return end;
}

/** The box without an edge; empty where the edge is all of it. */
export function inner({ x, y, width, height }: Box, edge: number, top = edge): Box {
  return {
    x: x + Math.min(edge, width / 2),
    y: y + Math.min(top, height),
    width: Math.max(0, width - 2 * edge),
    height: Math.max(0, height - top - edge),
  };
}

export const holds = (box: Box, x: number, y: number): boolean =>
  x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height;
