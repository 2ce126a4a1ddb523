/**
 * Long work in pieces: a generator that pauses between them, so that the caller can answer other
 * requests or cancel in between. The result does not depend on what happens in the pauses.
 */
export type Steps<T> = Generator<undefined, T, undefined>;

/**
 * The same work for each item, with a pause after every `size` of them. The work is a function of
 * its own, because JavaScript engines optimise the body of a generator late or not at all.
 */
export function* each<T>(items: readonly T[], size: number, work: (item: T, index: number) => void): Steps<void> {
  for (let from = 0; from < items.length; from += size) {
    yield;
    workOn(items, from, Math.min(items.length, from + size), work);
  }
}

function workOn<T>(items: readonly T[], from: number, to: number, work: (item: T, index: number) => void): void {
  for (let i = from; i < to; i++) work(items[i] as T, i);
}

/** All pieces at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
