/** The timeline as numbers: which pieces are in view, which are too thin to tell apart, what lies under a point, zoom and pan. */
import { hostPieces } from "../../../main/contract/recordings/pieces.ts";
import type { Track } from "../../../main/contract/recordings/tracks.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";

export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

/** In the order of their start. */
export interface TimeColumns {
  readonly start: Float64Array;
  readonly seconds: Float32Array;
  readonly lane: Uint8Array;
}

export interface DrawnSlice {
  readonly x: number;
  readonly width: number;
  /** Index of the first one that it stands for, and how many. */
  readonly slice: number;
  readonly count: number;
}

const columns = new WeakMap<ProfileView, Map<string, TimeColumns>>();

/** What a track is drawn from. Host pieces and threads have no lane: theirs is 0. */
export function columnsOf(profile: ProfileView, { kind, index }: Pick<Track, "kind" | "index">): TimeColumns {
  if (kind === "lane") return profile.slices;
  const kept = columns.get(profile) ?? new Map<string, TimeColumns>();
  columns.set(profile, kept);
  const key = `${kind} ${index}`;
  const known = kept.get(key);
  if (known !== undefined) return known;
  const { slices, threads } = profile;
  const count = slices.start.length;
  const pieces = kind === "host" ? hostPieces(profile) : [];
  const made: TimeColumns =
    kind === "host"
      ? {
          start: Float64Array.from(pieces, (piece) => piece.start),
          seconds: Float32Array.from(pieces, (piece) => piece.seconds),
          lane: new Uint8Array(pieces.length),
        }
      : {
          start: slices.start,
          seconds: threads.busy.subarray(index * count, (index + 1) * count),
          lane: new Uint8Array(count),
        };
  kept.set(key, made);
  return made;
}

/** Slices narrower than this are drawn together with their neighbours on the lane. */
const MIN_WIDTH = 1.5;

export function visibleSlices(
  { start: starts, seconds, lane: lanes }: TimeColumns,
  lane: number,
  range: TimeRange,
  width: number,
): readonly DrawnSlice[] {
  const scale = width / Math.max(1e-12, range.to - range.from);
  const drawn: DrawnSlice[] = [];
  let open: { x: number; end: number; slice: number; count: number } | undefined;
  const flush = (): void => {
    if (open === undefined) return;
    drawn.push({ x: open.x, width: Math.max(0.7, open.end - open.x), slice: open.slice, count: open.count });
  };
  for (let i = firstVisible(starts, seconds, range.from); i < starts.length; i++) {
    const start = starts[i] ?? 0;
    if (start > range.to) break;
    const length = seconds[i] ?? 0;
    if (lanes[i] !== lane || start + length < range.from) continue;
    const x = (start - range.from) * scale;
    const end = (start + length - range.from) * scale;
    if (open !== undefined && end - x < MIN_WIDTH && x - open.end < MIN_WIDTH && open.end - open.x < 2 * MIN_WIDTH) {
      open.end = Math.max(open.end, end);
      open.count += 1;
      continue;
    }
    flush();
    open = { x, end, slice: i, count: 1 };
  }
  flush();
  return drawn;
}

const longest = new WeakMap<Float32Array, number>();

function longestOf(seconds: Float32Array): number {
  const known = longest.get(seconds);
  if (known !== undefined) return known;
  let most = 0;
  for (const length of seconds) if (length > most) most = length;
  longest.set(seconds, most);
  return most;
}

/** Binary search; a long slice that began earlier is found by stepping back as far as the longest one reaches. */
function firstVisible(starts: Float64Array, seconds: Float32Array, from: number): number {
  const target = from - longestOf(seconds);
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) < target) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The slice under a point of time on a lane, or -1. */
export function sliceAt(
  { start: starts, seconds, lane: lanes }: TimeColumns,
  lane: number,
  time: number,
  slack: number,
): number {
  let best = -1;
  let distance = slack;
  for (let i = firstVisible(starts, seconds, time - slack); i < starts.length; i++) {
    const start = starts[i] ?? 0;
    if (start > time + slack) break;
    if (lanes[i] !== lane) continue;
    const end = start + (seconds[i] ?? 0);
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

/** Of both, when the second is moved by so many seconds. */
export const joinedRange = (a: TimeRange, b: TimeRange, offset: number): TimeRange => ({
  from: Math.min(a.from, b.from + offset),
  to: Math.max(a.to, b.to + offset),
});

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
