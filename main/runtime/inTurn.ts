/**
 * Several measurements in turn (A B C, A B C, …), so that drift (heat, other programs) hits all alike: each round takes one
 * sample of every cell. This is the one way to compare: benchmarks and the trials of an advice go through it.
 */
import { throwIfCancelled } from "../diagnostics/errors.ts";

export interface Cell<S> {
  /** How long it takes against the other cells, in any unit: for the time left before each cell ran once. */
  readonly weight: number;
  readonly once: (round: number) => Promise<S>;
}

export interface TurnSample<S> {
  readonly cell: number;
  /** From 0, of its kind: rounds of the warm-up count for themselves. */
  readonly index: number;
  readonly warmup: boolean;
  readonly sample: S;
  readonly progress: TurnProgress;
}

export interface TurnProgress {
  readonly done: number;
  readonly total: number;
  readonly secondsLeft: number;
}

export interface TurnOptions<S> {
  /** Rounds that count; with `budget` the most of them. */
  readonly repeats: number;
  readonly warmup: number;
  /** As many rounds as fit into these seconds, the warm-up among them, but at least `least`. */
  readonly budget?: { readonly seconds: number; readonly least: number } | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Seconds. */
  readonly now?: (() => number) | undefined;
  /** again: the round is taken once more, and its samples are dropped. stop: it ends with the samples that there are. */
  readonly afterRound?: (() => Promise<"go on" | "again" | "stop">) | undefined;
  readonly onSample?: ((sample: TurnSample<S>) => void) | undefined;
}

/** The samples of each cell that count: as many of every cell as rounds were done. */
export async function inTurn<S>(
  cells: readonly Cell<S>[],
  { repeats, warmup, budget, signal, now = () => performance.now() / 1000, afterRound, onSample }: TurnOptions<S>,
): Promise<readonly (readonly S[])[]> {
  const taken: S[][] = cells.map(() => []);
  /** The latest time of each cell, with what prepares it. */
  const walls: (number | undefined)[] = cells.map(() => undefined);
  const began = now();
  let counted = repeats;
  for (let round = 0; round < warmup + counted; round++) {
    for (const [at, cell] of cells.entries()) {
      throwIfCancelled(signal);
      const start = now();
      const sample = await cell.once(round);
      walls[at] = now() - start;
      if (round >= warmup) taken[at]?.push(sample);
      // The first rounds are the slowest: the one after the warm-up is asked as well.
      if (at === cells.length - 1 && round <= warmup && budget !== undefined)
        counted = roundsThatFit(budget, now() - began, sum(walls), { repeats, warmup, round });
      const done = round * cells.length + at + 1;
      const total = (warmup + counted) * cells.length;
      const left = secondsLeft(cells, walls, { at, rounds: warmup + counted - round - 1 });
      const progress = { done, total, secondsLeft: left };
      const isWarmup = round < warmup;
      onSample?.({
        ...{ cell: at, index: isWarmup ? round : round - warmup, warmup: isWarmup },
        ...{ sample, progress },
      });
    }
    const next = await afterRound?.();
    if (next === "stop") break;
    if (next === "again") {
      if (round >= warmup) for (const samples of taken) samples.pop();
      round--;
    }
  }
  return taken;
}

const sum = (values: readonly (number | undefined)[]): number => values.reduce<number>((all, x) => all + (x ?? 0), 0);

function roundsThatFit(
  { seconds, least }: { readonly seconds: number; readonly least: number },
  spent: number,
  perRound: number,
  { repeats, warmup, round }: { readonly repeats: number; readonly warmup: number; readonly round: number },
): number {
  const rounds = round + 1 + Math.floor(Math.max(0, seconds - spent) / Math.max(perRound, 1e-9));
  return Math.min(repeats, Math.max(least, rounds - warmup));
}

/** The rest of this round and the rounds after it. A cell that has not run takes as long as its weight says. */
function secondsLeft(
  cells: readonly Cell<unknown>[],
  walls: readonly (number | undefined)[],
  { at, rounds }: { readonly at: number; readonly rounds: number },
): number {
  const known = cells.reduce((all, { weight }, i) => (walls[i] === undefined ? all : all + weight), 0);
  const perWeight = sum(walls) / Math.max(known, 1e-9);
  return cells.reduce((all, { weight }, i) => {
    const each = walls[i] ?? weight * perWeight;
    return all + each * (rounds + (i > at ? 1 : 0));
  }, 0);
}
