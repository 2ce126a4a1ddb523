/**
 * The route ribbon as rectangles: the program in execution order, width by work or by number of ops. Every segment stays
 * visible however little it does, because a small segment is two hops; runs too thin to tell apart are drawn as one.
 *
 * A segment may start before the previous one ends. Drawing in node order would show hops that do
 * not exist.
 */
export interface RibbonRuns {
  readonly device: ArrayLike<number>;
  readonly work: ArrayLike<number>;
  readonly ops: ArrayLike<number>;
  readonly firstNode: ArrayLike<number>;
  readonly segment: ArrayLike<number>;
}

export type RibbonWidth = "work" | "ops";

export interface RibbonRect {
  readonly x: number;
  readonly width: number;
  readonly device: number;
  readonly segment: number;
  readonly firstNode: number;
  readonly ops: number;
  readonly work: number;
}

/** What of a step is no segment's: handing over before a segment, and copying caches, as shares of the step. */
export interface RibbonWaits {
  readonly before: ReadonlyMap<number, number>;
  readonly caches: number;
}
export const NO_WAITS: RibbonWaits = { before: new Map(), caches: 0 };

/** A stretch in which no segment runs. */
export interface RibbonGap {
  readonly kind: "hop" | "caches";
  readonly x: number;
  readonly width: number;
  /** That it comes before; -1 at the end. */
  readonly segment: number;
}

export interface RibbonParts {
  readonly rects: readonly RibbonRect[];
  readonly gaps: readonly RibbonGap[];
}

interface Handing {
  readonly toSegment: number;
  readonly seconds: number;
}

/** Of a step that takes so long. */
export function waitsOf(handing: readonly Handing[], cacheSeconds: number, step: number): RibbonWaits {
  if (step <= 0) return NO_WAITS;
  const before = new Map<number, number>();
  for (const { toSegment, seconds } of handing) before.set(toSegment, (before.get(toSegment) ?? 0) + seconds / step);
  return { before, caches: cacheSeconds / step };
}

/** Narrowest segment, and narrowest run that is drawn by itself. */
const MIN_SEGMENT = 3;
const MIN_RUN = 6;

export const ribbonRects = (runs: RibbonRuns, width: number, by: RibbonWidth): readonly RibbonRect[] =>
  ribbonParts(runs, width, by, NO_WAITS).rects;

/** By time, what is no segment's has its own stretches: the whole width is the whole step. By ops there are none. */
export function ribbonParts(unordered: RibbonRuns, width: number, by: RibbonWidth, waits: RibbonWaits): RibbonParts {
  const count = unordered.device.length;
  if (count === 0 || width <= 0) return { rects: [], gaps: [] };
  const runs = inOrder(unordered);
  const weightOf = (run: number): number => Math.max(0, (by === "work" ? runs.work[run] : runs.ops[run]) ?? 0);
  const segments = segmentSpans(runs);
  const weights = segments.map(({ first, end }) => {
    let sum = 0;
    for (let run = first; run < end; run++) sum += weightOf(run);
    return sum;
  });
  const seen = new Set<number>();
  const waiting = segments.map(({ first }) => {
    const segment = runs.segment[first] ?? 0;
    // A segment of several devices is waited for once.
    const share = by === "work" && !seen.has(segment) ? (waits.before.get(segment) ?? 0) : 0;
    seen.add(segment);
    return share;
  });
  const gapWeights = [...waiting, by === "work" ? waits.caches : 0].filter((share) => share > 0);
  const shared = shareOut([...weights, ...gapWeights], width, MIN_SEGMENT);
  const widths = shared.slice(0, weights.length);
  const gapWidths = shared.slice(weights.length);
  const rects: RibbonRect[] = [];
  const gaps: RibbonGap[] = [];
  let x = 0;
  const wait = (kind: RibbonGap["kind"], segment: number): void => {
    const wide = gapWidths[gaps.length] ?? 0;
    gaps.push({ kind, segment, x, width: wide });
    x += wide;
  };
  segments.forEach(({ first, end }, s) => {
    if ((waiting[s] ?? 0) > 0) wait("hop", runs.segment[first] ?? 0);
    const segmentWidth = widths[s] ?? 0;
    const total = weights[s] ?? 0;
    let open: { x: number; width: number; first: number; ops: number; work: number } | null = null;
    const flush = (): void => {
      if (open === null) return;
      const { first: run } = open;
      rects.push({
        x: open.x,
        width: open.width,
        device: runs.device[run] ?? 0,
        segment: runs.segment[run] ?? 0,
        firstNode: runs.firstNode[run] ?? 0,
        ops: open.ops,
        work: open.work,
      });
      open = null;
    };
    for (let run = first; run < end; run++) {
      const runWidth = total > 0 ? (segmentWidth * weightOf(run)) / total : segmentWidth / (end - first);
      open ??= { x, width: 0, first: run, ops: 0, work: 0 };
      open.width += runWidth;
      open.ops += runs.ops[run] ?? 0;
      open.work += runs.work[run] ?? 0;
      x += runWidth;
      if (open.width >= MIN_RUN) flush();
    }
    flush();
  });
  if (gaps.length < gapWeights.length) wait("caches", -1);
  return { rects, gaps };
}

/** Segment by segment, as they run; within one in the order of the nodes. */
function inOrder(runs: RibbonRuns): RibbonRuns {
  const order = Array.from({ length: runs.device.length }, (_, run) => run).sort(
    (a, b) => (runs.segment[a] ?? 0) - (runs.segment[b] ?? 0) || a - b,
  );
  const sorted = (column: ArrayLike<number>): readonly number[] => order.map((run) => column[run] ?? 0);
  return {
    device: sorted(runs.device),
    work: sorted(runs.work),
    ops: sorted(runs.ops),
    firstNode: sorted(runs.firstNode),
    segment: sorted(runs.segment),
  };
}

function segmentSpans(runs: RibbonRuns): readonly { readonly first: number; readonly end: number }[] {
  const spans: { first: number; end: number }[] = [];
  for (let run = 0; run < runs.device.length; run++) {
    const last = spans.at(-1);
    const same =
      last !== undefined &&
      runs.segment[last.first] === runs.segment[run] &&
      runs.device[last.first] === runs.device[run];
    if (same) last.end = run + 1;
    else spans.push({ first: run, end: run + 1 });
  }
  return spans;
}

/** Shares of `total` by weight, none below `least` as long as there is room for that. */
export function shareOut(weights: readonly number[], total: number, least: number): readonly number[] {
  const floor = Math.min(least, total / weights.length);
  const sum = weights.reduce((a, b) => a + b, 0);
  const wish = weights.map((weight) => (sum > 0 ? (weight / sum) * total : total / weights.length));
  const missing = wish.reduce((need, w) => need + Math.max(0, floor - w), 0);
  const spare = wish.reduce((have, w) => have + Math.max(0, w - floor), 0);
  // The wide ones give up what the narrow ones need, each in proportion to what it has to spare.
  return wish.map((w) => (w < floor ? floor : spare > 0 ? w - ((w - floor) * missing) / spare : w));
}

/** The rectangle at a place of the ribbon. */
export const rectAt = (rects: readonly RibbonRect[], x: number): RibbonRect | undefined =>
  rects.findLast((rect) => rect.x <= x) ?? rects[0];

/** Where one segment hands over to the next: x of the border, or of the middle of the time that it takes. */
export function ribbonNotches(rects: readonly RibbonRect[]): readonly number[] {
  return rects.flatMap((rect, i) => {
    const last = rects[i - 1];
    return last === undefined || last.segment === rect.segment ? [] : [(last.x + last.width + rect.x) / 2];
  });
}

/** The rectangle around each segment, for focus and hits. */
export function segmentExtents(
  rects: readonly RibbonRect[],
): readonly { readonly segment: number; readonly x: number; readonly width: number }[] {
  const extents: { segment: number; x: number; width: number }[] = [];
  for (const rect of rects) {
    const last = extents.at(-1);
    if (last?.segment === rect.segment) last.width = rect.x + rect.width - last.x;
    else extents.push({ segment: rect.segment, x: rect.x, width: rect.width });
  }
  return extents;
}
