/** Which single results go into a report: the newest few at first, then what a person ticks. */
import { expect, it } from "vitest";
import { benchResultOf, benchTestOf } from "../../testing/bench.ts";
import { listed, toggledName } from "./slice.ts";

const figure = (value: number) => ({
  ...{ value, low: null, high: null, basis: "" },
  ...({ unit: "tokens/s", truth: "measured" } as const),
});
const run = (id: number, rate: number | null, truth = "measured") => ({
  ...{ id, mode: "chat", device: "cpu", model: null, truth },
  stats: {
    ...{ promptTokens: 9, reusedTokens: 2, recomputed: null, promptSeconds: null, promptRate: null },
    ...{ firstTokenSeconds: null, generated: 5, rateNow: null, contextUsed: 14, contextSize: 64, cacheBytes: 1 },
    rate: rate === null ? null : figure(rate),
  } as never,
});
const bench = (id: number) => ({ id, at: 0, result: benchResultOf([benchTestOf("tg", [10 * id])]) });
const RESULTS = {
  benchResults: [7, 6, 5, 4].map(bench),
  benchEarlier: [3, 2, 1].map(bench),
  runHistory: [run(3, 30), run(2, null), run(1, 10, "simulated")],
};
const FIRST = { benches: null, answers: null, profile: true, conversation: false, notes: false, paths: false };

it("lists every result with its speed, and has the newest five of them", () => {
  const list = listed("benches", RESULTS, FIRST);
  expect(list.map(({ chosen }) => chosen)).toEqual([true, true, true, true, true, false, false]);
  expect(list[0]).toMatchObject({ name: "Bench 7" });
  expect(list[0]?.says).toMatch(/^tg 128 70\.0.t\/s$/u);
});

it("lists answers that were measured here, without their words", () => {
  const list = listed("answers", RESULTS, FIRST);
  expect(list.map(({ name }) => name)).toEqual(["Chat 3"]);
  expect(list[0]?.says).toMatch(/^30\.0.t\/s, 5 tokens$/u);
});

it("takes one result out and puts another one in", () => {
  const without = toggledName(listed("benches", RESULTS, FIRST), "Bench 7");
  expect(without).toEqual(["Bench 6", "Bench 5", "Bench 4", "Bench 3"]);
  const list = listed("benches", RESULTS, {
    ...FIRST,
    benches: toggledName(listed("benches", RESULTS, { ...FIRST, benches: without }), "Bench 1"),
  });
  expect(list.filter(({ chosen }) => chosen).map(({ name }) => name)).toEqual([...without, "Bench 1"]);
});
