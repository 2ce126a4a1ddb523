/** Curves over steps as geometry: scales, ticks, smoothing, what a pixel can show of many points, the point under a cursor. */

export interface CurvePoint {
  readonly x: number;
  /** Not finite: a gap. */
  readonly y: number;
}

export type ScaleKind = "linear" | "log";

export interface Span {
  readonly low: number;
  readonly high: number;
}

/** What a scale can place: a logarithm has no place for zero and below. */
export const canPlace = (value: number, kind: ScaleKind): boolean =>
  Number.isFinite(value) && (kind === "linear" || value > 0);

/** From the least to the greatest that can be placed; null where nothing can. One value gets room around it. */
export function spanOf(values: Iterable<number>, kind: ScaleKind): Span | null {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!canPlace(value, kind)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return null;
  if (low < high) return { low, high };
  if (kind === "log") return { low: low / 2, high: high * 2 };
  const half = low === 0 ? 1 : Math.abs(low) / 2;
  return { low: low - half, high: high + half };
}

/** A value as a share of the span: 0 at its low end, 1 at its high end. */
export function placeIn({ low, high }: Span, kind: ScaleKind, value: number): number {
  if (kind === "linear") return (value - low) / (high - low);
  return (Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low));
}

/** 1, 2 or 5 times a power of ten: the least such step with no more than `most` of them in the span. */
function roundStep(length: number, most: number): number {
  const least = length / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5, 10].find((factor) => factor * power >= least * (1 - 1e-9)) ?? 10) * power;
}

/** Round numbers inside the span, the least first: about `most` of them. */
export function ticksOf(span: Span, kind: ScaleKind, most: number): readonly number[] {
  const { low, high } = span;
  if (kind === "log" && high / low >= 10) return logTicks(span, most);
  const step = roundStep(high - low, most);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => {
    // 0.1 + 0.2 would be written with all its digits.
    const tick = Number(((first + i) * step).toPrecision(12));
    return tick === 0 ? 0 : tick;
  });
}

/** Powers of ten; each n-th of them where there are many, and 2 and 5 between them where there are few. */
function logTicks({ low, high }: Span, most: number): readonly number[] {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const every = Math.max(1, Math.ceil((last - first) / Math.max(1, most)));
  const factors = (last - first) * 3 <= most ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let power = first; power <= last; power++) {
    if ((power - first) % every !== 0) continue;
    for (const factor of factors) ticks.push(Number((factor * 10 ** power).toPrecision(3)));
  }
  return ticks.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
}

/** For axes of steps: no halves of one. */
export const wholeTicks = (span: Span, most: number): readonly number[] =>
  ticksOf(span, "linear", Math.min(most, Math.max(1, span.high - span.low))).filter(Number.isInteger);

/**
 * A moving mean that forgets: each value counts `weight` times as much as the one behind it. The first values are not pulled
 * to zero. A gap stays a gap and is not counted.
 */
export function smoothed(points: readonly CurvePoint[], weight: number): readonly CurvePoint[] {
  if (weight <= 0) return points;
  let [sum, share] = [0, 0];
  return points.map(({ x, y }) => {
    if (!Number.isFinite(y)) return { x, y };
    sum = weight * sum + (1 - weight) * y;
    share = weight * share + (1 - weight);
    return { x, y: sum / share };
  });
}

/** The weight that forgets within about as many points. */
export const weightFor = (points: number): number => (points <= 1 ? 0 : 1 - 2 / (points + 1));

/**
 * At most four points for each of `columns` columns: its first, least, greatest and last. A line through them covers the same
 * pixels as one through all, and a gap stays one.
 */
export function thinned(points: readonly CurvePoint[], columns: number): readonly CurvePoint[] {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || points.length <= columns * 4) return points;
  const width = (last.x - first.x) / columns || 1;
  const kept: CurvePoint[] = [];
  let from = 0;
  while (from < points.length) {
    const column = Math.floor(((points[from] as CurvePoint).x - first.x) / width);
    let to = from + 1;
    while (to < points.length && Math.floor(((points[to] as CurvePoint).x - first.x) / width) === column) to += 1;
    kept.push(...extremesOf(points.slice(from, to)));
    from = to;
  }
  return kept;
}

/** In their order, none twice; a gap among them is kept. */
function extremesOf(points: readonly CurvePoint[]): readonly CurvePoint[] {
  const places = new Set([0, points.length - 1]);
  let [least, most, gap] = [-1, -1, -1];
  points.forEach(({ y }, i) => {
    if (!Number.isFinite(y)) gap = i;
    else {
      if (least < 0 || y < (points[least] as CurvePoint).y) least = i;
      if (most < 0 || y > (points[most] as CurvePoint).y) most = i;
    }
  });
  for (const place of [least, most, gap]) if (place >= 0) places.add(place);
  return [...places].sort((a, b) => a - b).map((place) => points[place] as CurvePoint);
}

/** An SVG path through what can be placed; a point alone between gaps becomes a dot of the line's width. */
export function pathOf(
  points: readonly CurvePoint[],
  { x, y, kind }: { readonly x: (x: number) => number; readonly y: (y: number) => number; readonly kind: ScaleKind },
): string {
  let path = "";
  let isOpen = false;
  points.forEach((point, i) => {
    if (!canPlace(point.y, kind)) {
      isOpen = false;
      return;
    }
    const place = `${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}`;
    const next = points[i + 1];
    const isAlone = !isOpen && (next === undefined || !canPlace(next.y, kind));
    path += isOpen ? `L${place}` : isAlone ? `M${place}h0` : `M${place}`;
    isOpen = true;
  });
  return path;
}

/** The place of the point that is nearest to `x`; null where there is none. Points stand in the order of x. */
export function nearestTo(points: readonly CurvePoint[], x: number): number | null {
  if (points.length === 0) return null;
  let [low, high] = [0, points.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle] as CurvePoint).x < x) low = middle + 1;
    else high = middle;
  }
  const before = points[low - 1];
  const at = points[low] as CurvePoint;
  return before !== undefined && x - before.x <= at.x - x ? low - 1 : low;
}
