/**
 * Cuts a text into words by a list of patterns. The first one cuts the text into what it matches
 * and what lies between; each further one cuts those pieces again, seeing nothing beyond their
 * ends.
 */
import type { Steps } from "../ir/steps.ts";
import { unitsOf } from "./unicode.ts";

export interface Pattern {
  readonly regex: RegExp;
  readonly over: "folded" | "plain";
  /** Where a match is cut inside, from its beginning on; without it, a match is cut out whole. */
  readonly cuts?: (length: number) => Iterable<number>;
}

/** Matches between two pauses. */
const PAUSE_EVERY = 1 << 12;

/** Where each word of the text ends, in order; the last one ends with it. */
export function* wordEnds(text: string, patterns: readonly Pattern[]): Steps<readonly number[]> {
  if (text === "") return [];
  const units = unitsOf(text);
  let ends: number[] = [units.folded.length];
  for (const pattern of patterns) ends = yield* cutPieces(units[pattern.over], ends, pattern);
  const { positions } = units;
  return positions === undefined ? ends : ends.map((end) => positions[end] ?? 0);
}

/** Cuts every piece (given by where it ends) before and after each match inside it. */
function* cutPieces(units: string, pieces: readonly number[], pattern: Pattern): Steps<number[]> {
  const ends: number[] = [];
  let start = 0;
  let count = 0;
  for (const end of pieces) {
    if (++count % PAUSE_EVERY === 0) yield;
    // A piece by itself, because a pattern may look ahead and must not see the next piece.
    const piece = pieces.length === 1 ? units : units.slice(start, end);
    const place = { at: 0, last: 0 };
    while (!cutSome(piece, start, pattern, place, ends)) yield;
    if (start + place.last < end) ends.push(end);
    start = end;
  }
  return ends;
}

/** Goes on with a piece for some matches; true at its end. */
function cutSome(
  piece: string,
  start: number,
  { regex, cuts }: Pattern,
  place: { at: number; last: number },
  ends: number[],
): boolean {
  for (let i = 0; i < PAUSE_EVERY; i++) {
    regex.lastIndex = place.at;
    const match = regex.exec(piece);
    if (match === null) return true;
    const { index } = match;
    const { length } = match[0];
    place.at = index + Math.max(1, length);
    if (cuts === undefined) {
      if (index > place.last) ends.push(start + index);
      place.last = index + length;
      if (length > 0) ends.push(start + place.last);
    } else
      for (const cut of cuts(length)) {
        if (index + cut > place.last) ends.push(start + index + cut);
        place.last = index + cut;
      }
  }
  return false;
}
