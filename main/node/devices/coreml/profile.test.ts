// Which predictions belong to which run of a profile, over a session that is told what to predict: without a clock to trust.
import { expect, it } from "vitest";
import type { FeedOptions } from "../../../runtime/decoderSession.ts";
import type { PredictionTimes } from "./bridgeRunner.ts";
import type { CoremlLease } from "./session.ts";
import { record } from "./profile.ts";

/** A session whose runs make `perRun` predictions each and are told of late, as where the process was made to wait. */
function played(perRun: number, lateMs: number): Pick<CoremlLease, "session" | "runner"> {
  const runner: { onPrediction?: (times: PredictionTimes) => void } = {};
  const feed = (tokens: ArrayLike<number>, { onRun }: FeedOptions): Promise<unknown> => {
    const start = performance.now() / 1000;
    const times = { function: onRun === undefined ? "warm" : "timed", start, seconds: 1e-6, systemSeconds: 1e-6 };
    for (let i = 0; i < perRun; i++) runner.onPrediction?.(times);
    while (performance.now() / 1000 < start + lateMs / 1000);
    onRun?.(tokens.length, { outputs: {}, seconds: 1e-6 });
    return Promise.resolve({ id: 7 });
  };
  const begin = (prompt: ArrayLike<number>): Promise<ArrayLike<number>> => Promise.resolve(prompt);
  const session = { facts: { vocabulary: 10 }, cacheBytes: 10, truncate: () => undefined, begin, feed };
  return { session, runner } as unknown as Pick<CoremlLease, "session" | "runner">;
}

it.each([0, 20])(
  "keeps every prediction of every run, and none from before, when runs are told %i ms late",
  async (late) => {
    const lease = played(2, late);
    const options = {
      promptTokens: 4,
      generateTokens: 3,
      signal: new AbortController().signal,
      onProgress: () => undefined,
      processBytes: () => 1000,
    };
    const { steps, predictions, memory } = await record(lease, options);
    expect(steps.map(({ tokens, decode }) => [tokens, decode])).toEqual([
      [4, false],
      [1, true],
      [1, true],
      [1, true],
    ]);
    expect(predictions.map((one) => one.step)).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
    expect(new Set(predictions.map((one) => one.function))).toEqual(new Set(["timed"]));
    for (const { start } of predictions) expect(start).toBeGreaterThanOrEqual(0);
    // Before the first run and after each.
    expect(memory.time).toHaveLength(5);
    expect(lease.runner.onPrediction).toBeUndefined();
  },
);
