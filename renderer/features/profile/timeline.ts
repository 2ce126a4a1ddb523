/** The timeline as numbers: which slices are in view, which are too thin to tell apart, and what an interval adds up to. */
import type { ProfileView } from "../../../main/contract/views/run.ts";

export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

export interface DrawnSlice {
  readonly x: number;
  readonly width: number;
  readonly lane: number;
  /** Index of the first slice that it stands for, and how many. */
  readonly slice: number;
  readonly count: number;
}

/** Slices narrower than this are drawn together with their neighbours on the lane. */
const MIN_WIDTH = 1.5;

/** Slices come in the order of their start. */
export function visibleSlices(
  { slices }: Pick<ProfileView, "slices">,
  range: TimeRange,
  width: number,
): readonly DrawnSlice[] {
  const scale = width / Math.max(1e-12, range.to - range.from);
  const drawn: DrawnSlice[] = [];
  const open = new Map<number, { x: number; end: number; slice: number; count: number }>();
  const flush = (lane: number): void => {
    const part = open.get(lane);
    if (part === undefined) return;
    drawn.push({ x: part.x, width: Math.max(0.7, part.end - part.x), lane, slice: part.slice, count: part.count });
    open.delete(lane);
  };
  for (let i = firstVisible(slices, range.from); i < slices.start.length; i++) {
    const start = slices.start[i] ?? 0;
    if (start > range.to) break;
    const length = slices.seconds[i] ?? 0;
    if (start + length < range.from) continue;
    const lane = slices.lane[i] ?? 0;
    const x = (start - range.from) * scale;
    const end = (start + length - range.from) * scale;
    const before = open.get(lane);
    if (
      before !== undefined &&
      end - x < MIN_WIDTH &&
      x - before.end < MIN_WIDTH &&
      before.end - before.x < 2 * MIN_WIDTH
    ) {
      before.end = Math.max(before.end, end);
      before.count += 1;
      continue;
    }
    flush(lane);
    open.set(lane, { x, end, slice: i, count: 1 });
  }
  for (const lane of [...open.keys()]) flush(lane);
  return drawn;
}

/** Binary search; a long slice that began earlier is found by stepping back as far as the longest one reaches. */
function firstVisible(slices: ProfileView["slices"], from: number): number {
  let longest = 0;
  for (const length of slices.seconds) if (length > longest) longest = length;
  const target = from - longest;
  let [low, high] = [0, slices.start.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((slices.start[middle] ?? 0) < target) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The slice under a point of time on a lane, or -1. */
export function sliceAt({ slices }: Pick<ProfileView, "slices">, lane: number, time: number, slack: number): number {
  let best = -1;
  let distance = slack;
  for (let i = firstVisible(slices, time - slack); i < slices.start.length; i++) {
    const start = slices.start[i] ?? 0;
    if (start > time + slack) break;
    if (slices.lane[i] !== lane) continue;
    const end = start + (slices.seconds[i] ?? 0);
    const off = time < start ? start - time : time > end ? time - end : 0;
    if (off <= distance) [best, distance] = [i, off];
    if (off === 0) return i;
  }
  return best;
}

export function totalRange({ slices, steps }: Pick<ProfileView, "slices" | "steps">): TimeRange {
  let to = 0;
  for (let i = 0; i < slices.start.length; i++) to = Math.max(to, (slices.start[i] ?? 0) + (slices.seconds[i] ?? 0));
  for (let i = 0; i < steps.start.length; i++) to = Math.max(to, (steps.start[i] ?? 0) + (steps.seconds[i] ?? 0));
  return { from: 0, to: Math.max(to, 1e-6) };
}

export function zoomRange(range: TimeRange, factor: number, around: number, whole: TimeRange): TimeRange {
  const length = Math.min(whole.to - whole.from, Math.max((range.to - range.from) * factor, 1e-6));
  const share = (around - range.from) / (range.to - range.from);
  return clampRange({ from: around - share * length, to: around + (1 - share) * length }, whole);
}

export function panRange(range: TimeRange, by: number, whole: TimeRange): TimeRange {
  return clampRange({ from: range.from + by, to: range.to + by }, whole);
}

function clampRange(range: TimeRange, whole: TimeRange): TimeRange {
  const length = Math.min(range.to - range.from, whole.to - whole.from);
  const from = Math.min(Math.max(range.from, whole.from), whole.to - length);
  return { from, to: from + length };
}

export interface OpSum {
  readonly op: string;
  readonly count: number;
  readonly seconds: number;
  readonly bytes: number;
}

/** The parts of one step (a chunk of the prompt, or one token), the longest first. */
export function sumStep({ slices, strings }: Pick<ProfileView, "slices" | "strings">, step: number): readonly OpSum[] {
  const sums = new Map<string, OpSum>();
  for (let i = 0; i < slices.start.length; i++) {
    if (slices.step[i] !== step) continue;
    const op = strings[slices.op[i] ?? 0] ?? "";
    const before = sums.get(op);
    sums.set(op, {
      op,
      count: (before?.count ?? 0) + 1,
      seconds: (before?.seconds ?? 0) + (slices.seconds[i] ?? 0),
      bytes: (before?.bytes ?? 0) + (slices.bytes[i] ?? 0),
    });
  }
  return [...sums.values()].sort((a, b) => b.seconds - a.seconds);
}

/** Round steps for the ruler: 1, 2 or 5 times a power of ten. */
export function rulerStep(span: number, marks: number): number {
  const rough = span / Math.max(1, marks);
  const power = 10 ** Math.floor(Math.log10(rough));
  const first = [1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10;
  return first * power;
}

/** The chosen step with two neighbours to each side, or everything. */
export function rangeAround({ steps }: ProfileView, step: number, whole: TimeRange): TimeRange {
  if (step < 0) return whole;
  const first = Math.max(0, step - 2);
  const last = Math.min(steps.start.length - 1, step + 3);
  return { from: steps.start[first] ?? whole.from, to: (steps.start[last] ?? whole.to) + (steps.seconds[last] ?? 0) };
}
