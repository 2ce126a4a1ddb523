/** Where each track of the timeline stands, from top to bottom. */
import type { Track } from "../../../main/contract/recordings/tracks.ts";

export interface Row {
  readonly track: Track;
  readonly top: number;
  readonly height: number;
}

export interface TimelineLayout {
  readonly rows: readonly Row[];
  readonly height: number;
  /** Room for the tracks' names. */
  readonly label: number;
}

export const RULER = 18;
const GAP = 5;
/** What a timeline has at least: lanes that are few are higher. */
const LEAST_HEIGHT = 240;
const MOST_LANE = 40;
const HEIGHTS: { readonly [K in Track["kind"]]: number } = { tokens: 24, host: 24, lane: 26, thread: 14, memory: 40 };
const GROWS: ReadonlySet<Track["kind"]> = new Set(["tokens", "host", "lane"]);

/** `least`: of the whole; a second recording below the first needs less. */
export function layoutTimeline(tracks: readonly Track[], least = LEAST_HEIGHT): TimelineLayout {
  const plain = RULER + 4 + tracks.reduce((sum, { kind }) => sum + HEIGHTS[kind] + GAP, 0);
  const growing = tracks.filter(({ kind }) => GROWS.has(kind)).length;
  const more = Math.max(0, (least - plain) / Math.max(1, growing));
  let top = RULER;
  const rows = tracks.map((track) => {
    const height = GROWS.has(track.kind) ? Math.min(MOST_LANE, HEIGHTS[track.kind] + more) : HEIGHTS[track.kind];
    const row = { track, top, height };
    top += height + GAP;
    return row;
  });
  return { rows, height: Math.max(least, top + 4), label: labelRoom(tracks) };
}

/** By the longest of the names. */
export const labelRoom = (tracks: readonly Pick<Track, "title">[]): number =>
  Math.min(190, Math.max(56, 22 + 6.2 * Math.max(...tracks.map(({ title }) => title.length))));

/** -1: the ruler, or below the last. */
export const rowAt = ({ rows }: TimelineLayout, y: number): number =>
  rows.findIndex(({ top, height }) => y >= top - GAP / 2 && y < top + height + GAP / 2);
