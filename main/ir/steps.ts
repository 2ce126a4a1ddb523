/**
 * Long work in pieces: a generator that pauses between them, so that whoever runs it decides what happens in between
 * (other requests, a cancel). What it gives in the end does not depend on who runs it.
 */
export type Steps<T> = Generator<undefined, T, undefined>;

/** All pieces at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
