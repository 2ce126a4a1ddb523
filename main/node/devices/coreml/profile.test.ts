// Which predictions belong to which run of a profile, over a session that is told what to predict: without a clock to trust.
import { describe, expect, it } from "vitest";
import type { FeedOptions } from "../../../runtime/decoderSession.ts";
import type { PredictionTimes } from "./bridgeRunner.ts";
import type { CoremlLease } from "./session.ts";
import { apportion } from "./apportion.ts";
import type { ProfileFacts } from "./profile.ts";
import { coremlProfileView, record } from "./profile.ts";

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

describe("what a profile says of how it knows", () => {
  const steps = [0, 1, 2, 3].map((i) => ({ start: i / 10, seconds: 0.085, tokens: i === 0 ? 4 : 1, decode: i > 0 }));
  const predictions = steps.map(({ start }, step) => {
    const times = { start: start + 0.01, seconds: 0.06, systemSeconds: 0.05 };
    return { function: step === 0 ? "prefill" : "main", step, ...times };
  });
  const none = new Float64Array(0);
  const recorded = { steps, predictions, hostParts: [], memory: { time: none, resident: none, states: none } };
  const facts: ProfileFacts = {
    model: "M",
    truth: "measured",
    machine: "A Mac",
    refusal: "",
    trial: [],
    loadSeconds: 1,
  };
  const plan = [
    { op: "linear", output: "y", device: "ane", cost: 3, sources: [1] },
    { op: "softmax", output: "z", device: "gpu", cost: 1, sources: [2] },
  ] as const;
  const plans = new Map([
    ["main", plan],
    ["prefill", plan],
  ]);

  it("calls times of operations attributed wherever they stand, and the clock's own measured", () => {
    const profile = coremlProfileView(recorded, apportion(predictions, plans), facts);
    expect(profile.truth).toBe("attributed");
    expect(profile.lanes.map(({ device, truth }) => [device, truth])).toEqual([
      ["ane", "attributed"],
      ["gpu", "attributed"],
      ["host", "measured"],
    ]);
    const truths = profile.decode.rows.map(({ op, truth }) => [op, truth]);
    expect(truths).toEqual([
      ["linear", "attributed"],
      ["sampling, start and end", "measured"],
      ["JavaScript between steps", "measured"],
      ["softmax", "attributed"],
      ["copies", "measured"],
    ]);
    expect(profile.decode.seconds).toMatchObject({ truth: "measured", value: expect.closeTo(0.085, 6) as number });
    expect(profile.sentence).toMatch(
      /^A typical token spends 38 % of its time in linear by attribution\. Whole predictions are timed; /,
    );
    expect(profile.absent.map(({ what }) => what)).toEqual(["CPU threads", "memory"]);
  });

  it("has no times of operations where there are no costs", () => {
    const profile = coremlProfileView(recorded, apportion(predictions, new Map()), {
      ...facts,
      refusal: "an old system",
    });
    expect(profile.truth).toBe("measured");
    expect(profile.decode.rows.find(({ op }) => op === "prediction")).toMatchObject({
      device: "none",
      truth: "measured",
    });
    expect(profile.sentence).toContain("the system gives no costs of operations (an old system)");
    expect(profile.absent.find(({ what }) => what === "Neural Engine")?.why).toMatch(/tells no costs/);
  });
});
