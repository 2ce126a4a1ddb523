/** Two recordings side by side: a typical token of each by op, what changed most, and whether their tokens differ at all. */
import type { Device } from "../views/common.ts";
import type { ProfileView } from "../views/run.ts";
import type { PieceKind } from "./pieces.ts";
import { tokenSeconds, typicalTokens } from "./pieces.ts";
import type { Sum } from "./sums.ts";
import { opSums, phaseScope, totalOf } from "./sums.ts";

export interface Difference {
  readonly kind: PieceKind;
  readonly name: string;
  readonly device: Device;
  /** Seconds of one typical token; null: it has no such op. */
  readonly first: number | null;
  readonly second: number | null;
  readonly seconds: number;
  /** Of the first; null where that has none. */
  readonly share: number | null;
}

export interface Comparison {
  readonly first: number;
  readonly second: number;
  readonly differences: readonly Difference[];
  readonly sentence: string;
}

/** The largest change first. Ops are the same where their names and devices are. */
export function compareRecordings(first: ProfileView, second: ProfileView): Comparison {
  const [before, after] = [sumsOf(first), sumsOf(second)];
  const keys = new Map([...before, ...after].map(([key, sum]) => [key, sum]));
  const differences = [...keys].map(([key, { kind, name, device }]) => {
    const [a, b] = [before.get(key)?.seconds ?? null, after.get(key)?.seconds ?? null];
    const seconds = (b ?? 0) - (a ?? 0);
    return { kind, name, device, first: a, second: b, seconds, share: a === null ? null : seconds / a };
  });
  differences.sort((a, b) => Math.abs(b.seconds) - Math.abs(a.seconds));
  const [a, b] = [totalOf([...before.values()]), totalOf([...after.values()])];
  const sentence = sentenceOf(first, second, { first: a, second: b, differences });
  return { first: a, second: b, differences, sentence };
}

const sumsOf = (profile: ProfileView): ReadonlyMap<string, Sum> =>
  new Map(
    opSums(profile, phaseScope(profile, "decode")).map(
      (sum) => [`${sum.kind} ${sum.device} ${sum.name}`, sum] as const,
    ),
  );

/** Where the middle half of the tokens lies. */
function spreadOf(profile: ProfileView): readonly [number, number] {
  const times = typicalTokens(profile).map((step) => tokenSeconds(profile, step));
  return [Math.min(...times), Math.max(...times)];
}

const LEAST_TOKENS = 4;

function sentenceOf(
  first: ProfileView,
  second: ProfileView,
  { first: a, second: b, differences }: Omit<Comparison, "sentence">,
): string {
  const [largest] = differences;
  if (a === 0 || b === 0 || largest === undefined) return "Nothing can be compared: a recording has no written token.";
  const by = `${milliseconds(Math.abs(b - a))} (${percent(Math.abs(b - a) / a)})`;
  const token = `A token of the second takes ${milliseconds(b)} instead of ${milliseconds(a)}`;
  if (largest.seconds === 0) return `A token takes ${milliseconds(a)} in both: nothing changed.`;
  const change = `The largest change is ${largest.name}: ${signedMilliseconds(largest.seconds)}${largest.share === null ? ", which the first does not have" : largest.second === null ? ", which the second does not have" : ""}.`;
  const doubt = doubtOf(first, second);
  if (doubt !== "") return `${token}. ${doubt} ${change}`;
  return `${token}: ${by} ${b > a ? "slower" : "faster"}. ${change}`;
}

function doubtOf(first: ProfileView, second: ProfileView): string {
  if (first.truth === "simulated" || second.truth === "simulated")
    return "One is simulated, so that says nothing about a Mac.";
  const fewest = Math.min(typicalTokens(first).length, typicalTokens(second).length);
  if (fewest < LEAST_TOKENS)
    return `That says little: only ${fewest} ${fewest === 1 ? "token" : "tokens"} of one of them count.`;
  const [[low, high], [least, most]] = [spreadOf(first), spreadOf(second)];
  return low <= most && least <= high ? "That is no clear difference: the middle halves of their tokens overlap." : "";
}

export function milliseconds(seconds: number): string {
  const value = seconds * 1e3;
  return `${value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3)} ms`;
}
export const signedMilliseconds = (seconds: number): string =>
  `${seconds < 0 ? "\u2212" : "+"}${milliseconds(Math.abs(seconds))}`;
const percent = (share: number): string => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;

/** Seconds to add to the times of the second, so that the same token begins at the same place; `token` counts from 0. */
export function offsetBetween(first: ProfileView, second: ProfileView, token: number): number {
  const [a, b] = [startOf(first, token), startOf(second, token)];
  return a === null || b === null ? 0 : a - b;
}

function startOf({ steps }: ProfileView, token: number): number | null {
  let left = token;
  for (let step = 0; step < steps.start.length; step++)
    if (steps.decode[step] === 1 && left-- === 0) return steps.start[step] ?? null;
  return null;
}
