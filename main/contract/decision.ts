/**
 * Which of two is faster, as early as it can be told: after some numbers of rounds the pairs are looked at, and measuring ends
 * when they all but point one way. Looking often finds a difference by chance more often, so each look may err less, and all
 * looks together err in at most 5 of 100 cases (their levels add up to that). Two that differ by next to nothing are let go.
 */
import { ratioOfPairs } from "./benchVerdict.ts";
import type { Decision } from "./views/bench.ts";

/** Rounds after which is looked, and how often that look may err. The first takes six of six: 2 · 0.5⁶. */
const LOOKS: readonly (readonly [rounds: number, error: number])[] = [
  [6, 0.031_25],
  [10, 0.01],
  [16, 0.004],
  [24, 0.002],
  [40, 0.001],
  [64, 0.000_6],
  [100, 0.000_4],
];
export const MOST_DECIDING_ROUNDS = 100;
/** Of a ratio, from this many rounds on. */
const NEXT_TO_NOTHING = 0.02;
const LEAST_FOR_EVEN = 10;

/** Tokens per second of the same rounds. Between two looks it is open. */
export function decisionOf(first: readonly number[], second: readonly number[]): Decision {
  const rounds = Math.min(first.length, second.length);
  const look = LOOKS.find(([at]) => at === rounds);
  if (look === undefined) return "open";
  const pairs = [first.slice(0, rounds), second.slice(0, rounds)] as const;
  if (oneSided(...pairs) <= look[1]) return "clear";
  const { low, high } = ratioOfPairs(...pairs);
  const isClose = low >= 1 - NEXT_TO_NOTHING && high <= 1 + NEXT_TO_NOTHING;
  return rounds >= LEAST_FOR_EVEN && isClose ? "even" : "open";
}

/** How probable so many wins of either are, where neither is faster. A tie speaks for neither. */
function oneSided(first: readonly number[], second: readonly number[]): number {
  const rounds = first.length;
  const wins = (mine: readonly number[], other: readonly number[]): number =>
    mine.reduce((sum, rate, i) => sum + (rate > (other[i] ?? NaN) ? 1 : 0), 0);
  const rest = rounds - Math.max(wins(first, second), wins(second, first));
  let probability = 0.5 ** rounds;
  let tail = probability;
  for (let k = 1; k <= rest; k++) {
    probability *= (rounds - k + 1) / k;
    tail += probability;
  }
  return Math.min(1, 2 * tail);
}
