/** One question, several columns: a model on a device each. Where their answers diverge, and the sentence about it. */
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import type { TokenView } from "../../../main/contract/views/run.ts";
import { count, plural, share } from "../../ui/format.ts";
import type { Attachment } from "./attachments.ts";
import type { Answer, RunMode, RunParameters, Turn } from "./request.ts";

/** in turn: one after the other, so that each has the machine for itself · at once: all together, and all slower. */
export const COLUMN_ORDERS = ["turn", "together"] as const;
export type ColumnOrder = (typeof COLUMN_ORDERS)[number];

/** With the first one. */
export const MOST_COLUMNS = 4;

/** Another file than the open model's. */
export interface OtherModel {
  readonly path: string;
  readonly title: string;
}

/** What answers in a column; without a model the open one. */
export interface ColumnChoice {
  readonly device: RunDevice;
  readonly model: OtherModel | null;
}

export interface Column {
  /** The number of its run in the history. */
  readonly id: number;
  readonly parameters: RunParameters;
  readonly model: OtherModel | null;
  readonly state: "waiting" | "running" | "done";
  /** The current step before its first token. */
  readonly sentence: string;
  readonly answer: Answer;
  /** Tokens per second, one sample per report. */
  readonly rates: readonly number[];
}

export interface ColumnTurn {
  readonly id: number;
  readonly prompt: string;
  readonly attachments: readonly Attachment[];
  readonly mode: RunMode;
  readonly order: ColumnOrder;
  /** The seed of all. */
  readonly seed: number;
  /** Two at least; the others are compared with the first. */
  readonly columns: readonly Column[];
}

/**
 * What a column was asked and answered before, for its next request: a column is the same where model and device are. One that was
 * not there, failed, or had not begun knows nothing of that question.
 */
export const columnHistory = (
  turns: readonly ColumnTurn[],
  { parameters: { device }, model }: Pick<Column, "parameters" | "model">,
): readonly Turn[] =>
  turns.flatMap(({ id, prompt, attachments, mode, columns }) => {
    const own = columns.find((each) => each.parameters.device === device && each.model?.path === model?.path);
    if (mode !== "chat" || own === undefined || own.answer.error !== null || own.answer.text === "") return [];
    return [{ id, after: null, prompt, attachments, results: [], answer: own.answer }];
  });

/** Indices of the first token that differs, in the first column and in the other one. */
export interface Divergence {
  readonly first: number;
  readonly other: number;
}

interface Ended {
  readonly left: boolean;
  readonly right: boolean;
}

/**
 * Index of the first token that differs, or -1. An answer that is shorter differs at its end, but only once the model has ended
 * it: until then, and when it was stopped, its next token may be the same.
 */
export function firstDifference(left: readonly TokenView[], right: readonly TokenView[], ended: Ended): number {
  const common = Math.min(left.length, right.length);
  for (let i = 0; i < common; i++) if (left[i]?.id !== right[i]?.id) return i;
  if (left.length === right.length) return -1;
  const shorterEnded = left.length < right.length ? ended.left : ended.right;
  return shorterEnded ? common : -1;
}

/** The same by letters: models with vocabularies of their own cut the same text otherwise. */
function firstLetterThatDiffers(left: string, right: string, ended: Ended): number {
  const common = Math.min(left.length, right.length);
  for (let i = 0; i < common; i++) if (left[i] !== right[i]) return i;
  if (left.length === right.length) return -1;
  return (left.length < right.length ? ended.left : ended.right) ? common : -1;
}

const lettersOf = (tokens: readonly TokenView[]): string => tokens.map(({ text }) => text).join("");

/** The token that holds the letter; behind the last one, where it is past the end. */
function tokenAt(tokens: readonly TokenView[], letter: number): number {
  let end = 0;
  const at = tokens.findIndex(({ text }) => (end += text.length) > letter);
  return at < 0 ? tokens.length : at;
}

export function divergenceOf(first: Column, other: Column): Divergence | null {
  const isEnded = ({ state, answer }: Column): boolean => state === "done" && !answer.cut;
  const ended = { left: isEnded(first), right: isEnded(other) };
  const [left, right] = [first.answer.tokens, other.answer.tokens];
  if (first.model?.path === other.model?.path) {
    const at = firstDifference(left, right, ended);
    return at < 0 ? null : { first: at, other: at };
  }
  const letter = firstLetterThatDiffers(lettersOf(left), lettersOf(right), ended);
  return letter < 0 ? null : { first: tokenAt(left, letter), other: tokenAt(right, letter) };
}

/** Where each column diverges: the first one where the earliest other does; -1 for nowhere. */
export function divergences([first, ...others]: readonly Column[]): readonly number[] {
  if (first === undefined) return [];
  const all = others.map((other) => divergenceOf(first, other));
  const earliest = all.flatMap((each) => (each === null ? [] : [each.first]));
  return [earliest.length === 0 ? -1 : Math.min(...earliest), ...all.map((each) => each?.other ?? -1)];
}

const tokenText = (token: TokenView | undefined): string =>
  token === undefined ? "the end" : `${JSON.stringify(token.text)} (${share(Math.exp(token.logprob))})`;

/** The sentence about two columns so far. */
export function comparedSentence(first: Column, other: Column): string {
  const at = divergenceOf(first, other);
  const common = Math.min(first.answer.tokens.length, other.answer.tokens.length);
  if (at !== null) {
    const place =
      at.first === at.other ? `at token ${count(at.first + 1)}` : `at tokens ${at.first + 1} and ${at.other + 1}`;
    return `They diverge ${place}: ${tokenText(first.answer.tokens[at.first])} and ${tokenText(other.answer.tokens[at.other])}.`;
  }
  if (first.state !== "done" || other.state !== "done")
    return common === 0 ? "" : `The same for ${plural(common, "token")} so far.`;
  if (first.answer.error !== null || other.answer.error !== null) return "One of them failed; nothing is compared.";
  if (first.answer.cut || other.answer.cut)
    return common === 0 ? "Stopped before both wrote." : `Stopped; the same for ${plural(common, "token")} until then.`;
  return common === 0 ? "Neither wrote a token." : `All ${plural(common, "token")} are the same.`;
}

/**
 * How much faster the other wrote than the first; null where one wrote too little or is still writing, and where one is simulated:
 * its speed says nothing.
 */
export function speedRatio(first: Column, other: Column): number | null {
  if (first.answer.truth === "simulated" || other.answer.truth === "simulated") return null;
  const [a, b] = [first, other].map(({ state, answer }) =>
    state === "done" ? (answer.stats?.rate?.value ?? null) : null,
  );
  return a === null || a === undefined || a === 0 || b === null || b === undefined ? null : b / a;
}
