/** Progress of a cancelled run, from its error: parts, tokens or instructions. */
import { expect } from "vitest";

const TRIES = 20;

/**
 * Runs until a cancel comes in the middle: the timer of a busy machine may come before the run has begun, or after its end. A run that
 * heeds a cancel only at its end has done everything each time.
 */
export async function cancelledInTheMiddle(
  run: (signal: AbortSignal) => Promise<unknown>,
  milliseconds: number,
): Promise<{ readonly done: number; readonly all: number; readonly of: string }> {
  for (let i = 0; i < TRIES; i++) {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), milliseconds);
    const error = await run(stop.signal).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    clearTimeout(timer);
    if (error === undefined) continue;
    expect(error).toMatchObject({ code: "CANCELLED" });
    const [, done, all, of = ""] = /after (\d+) of (\d+) (\w+)/.exec(error instanceof Error ? error.message : "") ?? [];
    if (Number(done) > 0 && Number(done) < Number(all)) return { done: Number(done), all: Number(all), of };
  }
  throw new Error(`never in the middle, in ${TRIES} tries`);
}
