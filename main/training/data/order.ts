/**
 * Which examples a step sees. A batch is a function of the seed and the step alone, on every platform: a run that goes on from a
 * checkpoint sees what the uninterrupted one saw. Examples are shuffled anew for each round over all of them.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { seededRandom } from "../../runtime/statistics.ts";

/** Numbers of one purpose: `stream` keeps those of weights, order and words apart. Whole-number arithmetic only. */
export const randomOf = (seed: number, stream: number): (() => number) =>
  seededRandom((seed ^ Math.imul(stream + 1, 0x9e3779b1)) >>> 0);

export const below = (random: () => number, limit: number): number => Math.floor(random() * limit);

/** 0 … count − 1 in a random order (Fisher and Yates). */
export function shuffled(count: number, random: () => number): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const other = below(random, i + 1);
    const here = order[i] ?? 0;
    order[i] = order[other] ?? 0;
    order[other] = here;
  }
  return order;
}

/** Gives the examples of a step, which begins at 1; rounds follow each other without a gap. */
export function batches(count: number, batch: number, seed: number): (step: number) => readonly number[] {
  if (batch > count)
    throw new WorkbenchError("INPUT_ARGUMENT", `[train] batch: got ${batch}, expected at most ${count} examples`, {
      hint: "Take a smaller batch, or more data.",
    });
  let kept: { readonly round: number; readonly order: Uint32Array } | undefined;
  const at = (place: number): number => {
    const round = Math.floor(place / count);
    if (kept?.round !== round) kept = { round, order: shuffled(count, randomOf(seed, round)) };
    return kept.order[place % count] ?? 0;
  };
  return (step) => Array.from({ length: batch }, (_, i) => at((step - 1) * batch + i));
}

/** Places of `batch` windows of `length` in `count` numbers. */
export function windows(
  count: number,
  { batch, length, seed }: { readonly batch: number; readonly length: number; readonly seed: number },
): (step: number) => readonly number[] {
  if (count < length)
    throw new WorkbenchError("INPUT_ARGUMENT", `[train] data: got ${count} letters, expected at least ${length}`, {
      hint: "Take a longer text, or a shorter context.",
    });
  return (step) => {
    const random = randomOf(seed, step);
    return Array.from({ length: batch }, () => below(random, count - length + 1));
  };
}

/** How many of `count` are left for validation; of a few there is one at least, where any was asked for. */
export function heldOut(count: number, share: number): number {
  return share === 0 || count < 2 ? 0 : Math.min(count - 1, Math.max(1, Math.round(count * share)));
}
