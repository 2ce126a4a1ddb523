/** What the keys do to a timeline: pure, so that the same keys can be tested without a canvas. */
import type { Selection } from "../../../main/contract/recordings/tracks.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import type { TimeRange } from "./timeline.ts";
import { panRange, rangeAround, zoomRange } from "./timeline.ts";

export interface KeyedView {
  readonly profile: ProfileView;
  readonly tracks: number;
  readonly range: TimeRange;
  readonly whole: TimeRange;
  readonly step: number;
  readonly selection: Selection | null;
}

export interface KeyPress {
  readonly key: string;
  readonly shiftKey: boolean;
}

export interface KeyEffect {
  readonly range?: TimeRange;
  readonly step?: number;
  readonly selection?: Selection | null;
}

/** undefined: the key means nothing here. */
export function effectOf(view: KeyedView, { key, shiftKey }: KeyPress): KeyEffect | undefined {
  const { profile, range, whole, step, selection } = view;
  const span = range.to - range.from;
  const zoom = (factor: number): KeyEffect => ({
    range: zoomRange(range, factor, (range.from + range.to) / 2, whole),
  });
  const pan = (by: number): KeyEffect => ({ range: panRange(range, span * by, whole) });
  const last = profile.steps.start.length - 1;
  switch (shiftKey && key.length > 1 ? `Shift+${key}` : key.toLowerCase()) {
    case "w":
    case "+":
    case "=":
      return zoom(0.7);
    case "s":
    case "-":
      return zoom(1 / 0.7);
    case "a":
      return pan(-0.2);
    case "d":
      return pan(0.2);
    case "f":
    case "0":
      return { range: whole };
    case "m":
      return step < 0 ? {} : { selection: { ...stepSpan(profile, step, step), first: 0, last: view.tracks - 1 } };
    case "arrowleft":
      return walk(view, Math.max(0, step - 1));
    case "arrowright":
      return walk(view, Math.min(last, step + 1));
    case "enter":
      return { range: selection === null ? rangeAround(profile, step, whole) : around(selection, whole) };
    case "escape":
      return selection === null ? undefined : { selection: null };
    case "Shift+ArrowLeft":
    case "Shift+ArrowRight":
      return extend(view, key === "ArrowLeft" ? -1 : 1);
    case "Shift+ArrowUp":
    case "Shift+ArrowDown":
      return selection === null ? {} : { selection: lanes(selection, key === "ArrowUp" ? -1 : 1, view.tracks) };
    default:
      return undefined;
  }
}

/** A step that is not on the screen is brought there. */
function walk({ profile, range, whole }: KeyedView, step: number): KeyEffect {
  const { from, to } = stepSpan(profile, step, step);
  return from < range.from || to > range.to ? { step, range: rangeAround(profile, step, whole) } : { step };
}

const around = ({ from, to }: TimeRange, whole: TimeRange): TimeRange =>
  zoomRange({ from, to }, 1.1, (from + to) / 2, whole);

/** From the start of one step to the start of the one behind the other. */
function stepSpan({ steps }: ProfileView, first: number, last: number): TimeRange {
  const end = (steps.start[last] ?? 0) + (steps.seconds[last] ?? 0);
  return { from: steps.start[first] ?? 0, to: steps.start[last + 1] ?? end };
}

/** By whole steps, from the chosen one on. */
function extend({ profile, tracks, step, selection }: KeyedView, by: 1 | -1): KeyEffect {
  const { start } = profile.steps;
  const last = start.length - 1;
  if (last < 0) return {};
  if (selection === null) {
    const from = Math.max(0, step);
    return { selection: { ...stepSpan(profile, from, from), first: 0, last: tracks - 1 } };
  }
  const first = Math.max(
    0,
    start.findLastIndex((at) => at <= selection.from),
  );
  const reached = Math.max(
    first,
    start.findLastIndex((at) => at < selection.to),
  );
  const next = Math.min(last, Math.max(first, reached + by));
  return { selection: { ...selection, ...stepSpan(profile, first, next) } };
}

/** One lane more or less at the lower edge. */
const lanes = (selection: Selection, by: 1 | -1, tracks: number): Selection => ({
  ...selection,
  last: Math.min(tracks - 1, Math.max(selection.first, selection.last + by)),
});
