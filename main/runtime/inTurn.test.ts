// Rounds: everything once before anything twice, by a clock that the cells turn.
import { describe, expect, it } from "vitest";
import type { Cell, TurnOptions, TurnSample } from "./inTurn.ts";
import { inTurn } from "./inTurn.ts";

/** Cells that take so many seconds each, and write down when they ran. */
function clockwork(seconds: readonly number[]) {
  let time = 0;
  const order: string[] = [];
  const cells = seconds.map((each, at): Cell<number> => ({
    weight: each,
    once: (round) => {
      order.push(`${"ABC"[at] ?? ""}${round}`);
      time += each;
      return Promise.resolve(round);
    },
  }));
  const samples: TurnSample<number>[] = [];
  const run = (options: Partial<TurnOptions<number>>): Promise<readonly (readonly number[])[]> =>
    inTurn(cells, {
      ...{ repeats: 2, warmup: 1, now: () => time, onSample: (sample) => void samples.push(sample) },
      ...options,
    });
  return { run, order, samples };
}

describe("measurements in turn", () => {
  it("take one sample of each in every round, the warm-up first and not counted", async () => {
    const { run, order } = clockwork([1, 2]);
    expect(await run({})).toEqual([
      [1, 2],
      [1, 2],
    ]);
    expect(order).toEqual(["A0", "B0", "A1", "B1", "A2", "B2"]);
  });

  it("say how long is left, by weight until each has run", async () => {
    const { run, samples } = clockwork([1, 2]);
    await run({});
    expect(samples.map(({ progress }) => progress.secondsLeft)).toEqual([8, 6, 5, 3, 2, 0]);
    expect(samples.at(-1)?.progress).toMatchObject({ done: 6, total: 6 });
  });

  it("fit into a time, with as many rounds as an interval needs", async () => {
    // One round of three seconds warms up, and leaves 27 of 30.
    expect((await clockwork([1, 2]).run({ repeats: 100, budget: { seconds: 30, least: 6 } }))[0]).toHaveLength(9);
    expect((await clockwork([1, 2]).run({ repeats: 100, budget: { seconds: 5, least: 6 } }))[0]).toHaveLength(6);
    expect((await clockwork([1, 2]).run({ repeats: 4, budget: { seconds: 30, least: 4 } }))[0]).toHaveLength(4);
  });

  it("take a disturbed round again, and drop what it gave", async () => {
    const { run, order } = clockwork([1, 2]);
    const answers = ["go on", "again", "go on", "go on"] as const;
    let asked = 0;
    const taken = await run({ afterRound: () => Promise.resolve(answers[asked++] ?? "stop") });
    expect(order).toEqual(["A0", "B0", "A1", "B1", "A1", "B1", "A2", "B2"]);
    expect(taken).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  it("stop with what there is, and end when they are cancelled", async () => {
    const answers = ["go on", "stop"] as const;
    let asked = 0;
    expect(await clockwork([1, 2]).run({ afterRound: () => Promise.resolve(answers[asked++] ?? "stop") })).toEqual([
      [1],
      [1],
    ]);
    const abort = new AbortController();
    const { run, order } = clockwork([1, 2]);
    const onSample = (): void => abort.abort();
    await expect(run({ signal: abort.signal, onSample })).rejects.toMatchObject({ code: "CANCELLED" });
    expect(order).toEqual(["A0"]);
  });
});
