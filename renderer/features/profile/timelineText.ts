/** Steps and pieces in words, for the tooltip, the line under the timeline and screen readers. */
import type { Truth } from "../../../main/contract/views/common.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import type { Piece } from "../../../main/contract/recordings/pieces.ts";
import { hostPieces, slicePiece, stepTitle } from "../../../main/contract/recordings/pieces.ts";
import type { Track } from "../../../main/contract/recordings/tracks.ts";
import { busyOf } from "../../../main/contract/recordings/tracks.ts";
import { approximate, bytes, count, fineShare, isApproximate, seconds } from "../../ui/format.ts";
import type { TimeRange } from "./timeline.ts";
import { columnsOf, sliceAt } from "./timeline.ts";

/** A time of the recording: `~` where it was shared out, or a simulator took it. */
export const timeText = ({ truth }: { readonly truth: Truth }, value: number): string =>
  isApproximate(truth) ? approximate(seconds(value)) : seconds(value);

/** The truth of a whole step is the clock's, also where times in it are shared out. */
const clocked = ({ truth }: ProfileView): { readonly truth: Truth } => ({
  truth: truth === "attributed" ? "measured" : truth,
});

export function stepAt({ steps }: ProfileView, time: number): number {
  for (let i = 0; i < steps.start.length; i++) {
    const start = steps.start[i] ?? 0;
    if (time >= start && time <= start + (steps.seconds[i] ?? 0)) return i;
  }
  return -1;
}

export function describeStep(profile: ProfileView, step: number): string {
  return step < 0 || step >= profile.steps.start.length
    ? ""
    : `${stepTitle(profile, step)}: ${timeText(clocked(profile), profile.steps.seconds[step] ?? 0)}`;
}

/** What of the recording is in view, and how to see the rest; empty where all is. */
export function describeRange({ steps }: ProfileView, { from, to }: TimeRange): string {
  const total = steps.start.length;
  const isSeen = (i: number): boolean => {
    const start = steps.start[i] ?? 0;
    return start < to && start + (steps.seconds[i] ?? 0) > from;
  };
  const seen = Array.from({ length: total }, (_, i) => i).filter(isSeen);
  const [first, last] = [seen[0], seen.at(-1)];
  if (seen.length === total) return "";
  if (first === undefined || last === undefined) return `No step in view, of ${count(total)}; 0 shows all`;
  const shown = first === last ? `Step ${count(first + 1)}` : `Steps ${count(first + 1)} to ${count(last + 1)}`;
  return `${shown} of ${count(total)} in view; 0 shows all`;
}

export function describeSlice(profile: ProfileView, slice: number): string {
  return slice < 0 || slice >= profile.slices.start.length ? "" : describePiece(slicePiece(profile, slice));
}

/** Where it was not the clock: how it is known. */
const howText = (truth: Truth): string => (truth === "measured" || truth === "exact" ? "" : truth);

export function describePiece(piece: Piece): string {
  const { op, label, bytes: read, seconds: length, truth } = piece;
  return [
    `${op}${label === "" || label === op ? "" : ` ${label}`}: ${timeText(piece, length)}`,
    read > 0 && length > 0 ? `${bytes(read)} at ${bytes(read / length)}/s` : "",
    howText(truth),
  ]
    .filter((part) => part !== "")
    .join(", ");
}

/** What stands under the pointer on a track; empty for nothing. */
export function describeAt(profile: ProfileView, track: Track, time: number, slack: number): string {
  if (track.kind === "tokens") return describeStep(profile, stepAt(profile, time));
  if (track.kind === "memory") return describeMemory(profile, time);
  const found = sliceAt(columnsOf(profile, track), track.kind === "lane" ? track.index : 0, time, slack);
  if (found < 0) return "";
  if (track.kind === "host") {
    const piece = hostPieces(profile)[found];
    return piece === undefined ? "" : describePiece(piece);
  }
  if (track.kind === "lane") return describeSlice(profile, found);
  const busy = busyOf(profile, { slice: found }, track.index);
  const whole = profile.slices.seconds[found] ?? 0;
  return `${describeSlice(profile, found)}; this thread worked ${seconds(busy)}, ${fineShare(busy / whole)} of it`;
}

export function describeMemory({ memory }: ProfileView, time: number): string {
  let at = -1;
  while (at + 1 < memory.time.length && (memory.time[at + 1] ?? 0) <= time) at++;
  if (at < 0) return "";
  return `engine ${bytes(memory.resident[at] ?? 0)}, of it caches and states ${bytes(memory.states[at] ?? 0)}`;
}
