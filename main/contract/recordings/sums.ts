/** The one place that adds up times of a recording: for the sentence, the tables, selections, single steps, comparisons. */
import type { Device, Truth } from "../views/common.ts";
import type { Piece, PieceKind, Recording } from "./pieces.ts";
import { piecesOf, promptSteps, typicalTokens } from "./pieces.ts";

/** Which pieces count, and how much of each. */
export interface Scope {
  /** Seconds of it that count; 0: it does not. */
  readonly secondsOf: (piece: Piece) => number;
  /** The sums are shared among so many: tokens that stand for one. */
  readonly among: number;
}

export interface Sum {
  readonly kind: PieceKind;
  readonly name: string;
  readonly device: Device;
  readonly truth: Truth;
  /** How many pieces; of a typical token a mean. */
  readonly count: number;
  readonly seconds: number;
  readonly bytes: number;
  /** Of the seconds of all sums. */
  readonly share: number;
  /** Of single pieces. */
  readonly mean: number;
  readonly min: number;
  readonly max: number;
}

export type Phase = "prefill" | "decode";

export function phaseScope(recording: Recording, phase: Phase): Scope {
  const steps = new Set(phase === "decode" ? typicalTokens(recording) : promptSteps(recording));
  return {
    secondsOf: (piece) => (steps.has(piece.step) ? piece.seconds : 0),
    among: phase === "decode" ? Math.max(1, steps.size) : 1,
  };
}

/** One step, without what follows it. */
export const stepScope = (step: number): Scope => ({
  secondsOf: (piece) => (piece.step === step && piece.kind !== "between" ? piece.seconds : 0),
  among: 1,
});

interface Tally extends Pick<Sum, "kind" | "name" | "device" | "truth"> {
  count: number;
  seconds: number;
  bytes: number;
  min: number;
  max: number;
}

/** The longest first. Pieces of the same name on the same device are one sum. */
export function sumBy(recording: Recording, { secondsOf, among }: Scope, nameOf: (piece: Piece) => string): Sum[] {
  const found = new Map<string, Tally>();
  for (const piece of piecesOf(recording)) {
    const seconds = secondsOf(piece);
    if (seconds <= 0) continue;
    const name = nameOf(piece);
    const key = `${piece.kind} ${piece.device} ${name}`;
    let tally = found.get(key);
    if (tally === undefined) {
      const { kind, device, truth } = piece;
      tally = { kind, device, truth, name, count: 0, seconds: 0, bytes: 0, min: Infinity, max: 0 };
      found.set(key, tally);
    }
    tally.count++;
    tally.seconds += seconds;
    // Of a piece that counts in part, that part.
    tally.bytes += piece.bytes * (seconds / piece.seconds);
    tally.min = Math.min(tally.min, seconds);
    tally.max = Math.max(tally.max, seconds);
  }
  const total = [...found.values()].reduce((sum, { seconds }) => sum + seconds, 0);
  return [...found.values()]
    .map((tally) => ({
      ...tally,
      count: tally.count / among,
      seconds: tally.seconds / among,
      bytes: tally.bytes / among,
      share: tally.seconds / total,
      mean: tally.seconds / tally.count,
    }))
    .sort((a, b) => b.seconds - a.seconds);
}

export const opSums = (recording: Recording, scope: Scope): Sum[] => sumBy(recording, scope, ({ op }) => op);

export const layerSums = (recording: Recording, scope: Scope): Sum[] => sumBy(recording, scope, layerOf);

export const totalOf = (sums: readonly Pick<Sum, "seconds">[]): number =>
  sums.reduce((total, { seconds }) => total + seconds, 0);

const BLOCK = /(?:^|[/.])(?:blk|block|blocks|layer|layers|h)[._](\d+)(?:\D|$)/;

/** "block 3"; what stands outside of the blocks goes by its own name. */
export function layerOf({ kind, op, label }: Pick<Piece, "kind" | "op" | "label">): string {
  if (kind !== "op") return op;
  const block = BLOCK.exec(label)?.[1];
  if (block !== undefined) return `block ${block}`;
  return label === "" || label === op ? "outside of blocks" : (label.split("/")[0] ?? label);
}

const LEVELS: readonly ((piece: Piece) => string)[] = [
  ({ op }) => op,
  layerOf,
  ({ op, label }) => (label === "" ? op : label),
];

/** Ops, then the layers of one of them, then its instructions in that layer: what `path` leads to. Shares are of `whole`. */
export function bottomUp(
  recording: Recording,
  scope: Scope,
  path: readonly Pick<Sum, "name" | "device" | "kind">[],
  whole: number,
): readonly Sum[] {
  const nameOf = LEVELS[path.length];
  if (nameOf === undefined || path.some(({ kind }) => kind !== "op")) return [];
  const leads = (piece: Piece): boolean =>
    path.every(({ name, device }, level) => piece.device === device && LEVELS[level]?.(piece) === name);
  const secondsOf = (piece: Piece): number => (leads(piece) ? scope.secondsOf(piece) : 0);
  return sumBy(recording, { ...scope, secondsOf }, nameOf).map((sum) => ({
    ...sum,
    share: whole === 0 ? 0 : sum.seconds / whole,
  }));
}
