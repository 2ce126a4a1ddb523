import { describe, expect, it } from "vitest";
import type { BenchEntry } from "../features/bench/slice.ts";
import type { RunRecord } from "../features/run/history.ts";
import { DEFAULT_PARAMETERS, EMPTY_REPLY } from "../features/run/request.ts";
import { benchResultOf, benchTestOf } from "../testing/bench.ts";
import { pastRuns } from "./pastRuns.ts";

const run = (id: number, at: number, errorCode: string | null = null): RunRecord => ({
  id,
  at,
  mode: "chat",
  prompt: `question ${id}`,
  messages: [],
  device: "cpu" as const,
  pair: null,
  model: null,
  parameters: DEFAULT_PARAMETERS,
  seed: 1,
  text: "",
  stats: null,
  reply: EMPTY_REPLY,
  truth: "measured",
  end: "",
  errorCode,
});
const bench = (id: number, at: number, model: string): BenchEntry => ({
  ...{ id, at, model },
  result: benchResultOf([
    benchTestOf("tg", [50], {
      rate: { value: 50, low: null, high: null, unit: "tokens/s", truth: "measured", basis: "" },
    }),
  ]),
});

describe("past runs", () => {
  it("stand together, the newest first, those of other models left out", () => {
    const list = pastRuns([run(2, 30), run(1, 10)], [bench(1, 20, "mine"), bench(2, 40, "other")], "mine", 9);
    expect(list.map(({ key }) => key)).toEqual(["run-2", "bench-1", "run-1"]);
    expect(list[1]?.aside).toMatch(/^50\.0.t\/s$/);
  });

  it("have names of their own within the same minute", () => {
    const list = pastRuns([run(2, 1), run(1, 1)], [bench(1, 1, "mine"), bench(2, 1, "mine")], "mine", 9);
    expect(list.map(({ title }) => title.split(",")[0])).toEqual(["Chat 2", "Chat 1", "Bench 1", "Bench 2"]);
  });

  it("say that one failed, and are no more than there is room for", () => {
    expect(pastRuns([run(1, 1, "ENGINE_LOST")], [], "mine", 3)[0]?.aside).toBe("failed");
    expect(pastRuns([run(3, 3), run(2, 2), run(1, 1)], [], "mine", 2)).toHaveLength(2);
  });
});
