/** Two devices answer the same question: the first difference, and the sentence about it. */
import type { TokenView } from "../../../main/contract/views/run.ts";
import { count, plural, share } from "../../ui/format.ts";
import type { Answer, RunMode, RunParameters } from "./request.ts";

/** in turn: one after the other, so that each has the machine for itself · at once: both together, and both slower. */
export const PAIR_ORDERS = ["turn", "together"] as const;
export type PairOrder = (typeof PAIR_ORDERS)[number];

export interface PairSide {
  /** The number of its run in the history. */
  readonly id: number;
  readonly parameters: RunParameters;
  readonly state: "waiting" | "running" | "done";
  /** The current step before its first token. */
  readonly sentence: string;
  readonly answer: Answer;
  /** Tokens per second, one sample per report. */
  readonly rates: readonly number[];
}

export interface PairTurn {
  readonly id: number;
  readonly prompt: string;
  readonly mode: RunMode;
  readonly order: PairOrder;
  /** The seed of both. */
  readonly seed: number;
  readonly sides: readonly [PairSide, PairSide];
}

/**
 * Index of the first token that differs, or -1. An answer that is shorter differs at its end, but only once the model has ended
 * it: until then, and when it was stopped, its next token may be the same.
 */
export function firstDifference(
  left: readonly TokenView[],
  right: readonly TokenView[],
  ended: { readonly left: boolean; readonly right: boolean },
): number {
  const common = Math.min(left.length, right.length);
  for (let i = 0; i < common; i++) if (left[i]?.id !== right[i]?.id) return i;
  if (left.length === right.length) return -1;
  const shorterEnded = left.length < right.length ? ended.left : ended.right;
  return shorterEnded ? common : -1;
}

export const differenceOf = ({ sides: [left, right] }: PairTurn): number =>
  firstDifference(left.answer.tokens, right.answer.tokens, {
    left: left.state === "done" && !left.answer.cut,
    right: right.state === "done" && !right.answer.cut,
  });

const tokenText = (token: TokenView | undefined): string =>
  token === undefined ? "the end" : `${JSON.stringify(token.text)} (${share(Math.exp(token.logprob))})`;

/** The sentence about the comparison so far. */
export function pairSentence(turn: PairTurn): string {
  const [left, right] = turn.sides;
  const at = differenceOf(turn);
  const common = Math.min(left.answer.tokens.length, right.answer.tokens.length);
  if (at >= 0)
    return `They diverge at token ${count(at + 1)}: ${tokenText(left.answer.tokens[at])} and ${tokenText(right.answer.tokens[at])}.`;
  if (left.state !== "done" || right.state !== "done")
    return common === 0 ? "" : `The same for ${plural(common, "token")} so far.`;
  if (left.answer.error !== null || right.answer.error !== null) return "One of them failed; nothing is compared.";
  if (left.answer.cut || right.answer.cut)
    return common === 0 ? "Stopped before both wrote." : `Stopped; the same for ${plural(common, "token")} until then.`;
  return common === 0 ? "Neither wrote a token." : `All ${plural(common, "token")} are the same.`;
}

/**
 * How much faster the second wrote than the first; null where one wrote too little or is still writing, and where one is simulated:
 * its speed says nothing.
 */
export function pairRatio({ sides: [left, right] }: PairTurn): number | null {
  if (left.answer.truth === "simulated" || right.answer.truth === "simulated") return null;
  const [a, b] = [left, right].map(({ state, answer }) =>
    state === "done" ? (answer.stats?.rate?.value ?? null) : null,
  );
  return a === null || a === undefined || a === 0 || b === null || b === undefined ? null : b / a;
}
