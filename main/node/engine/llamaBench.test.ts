// The times of llama-bench's rows: whole seconds, each test's own.
import { expect, it } from "vitest";
import type { BenchTest } from "../../runtime/bench.ts";
import { llamaBenchJson } from "./llamaBench.ts";

const test = (name: BenchTest["test"], began: string): BenchTest => ({
  test: name,
  began: new Date(began),
  tokens: 8,
  rates: [4],
  seconds: [2],
  median: 4,
  interval: { low: 4, high: 4 },
  mean: 4,
  deviation: 0,
});

it("says of each test when it began, as llama-bench writes it", () => {
  const description = { architecture: { kind: "unsupported" }, variant: "Q8_0", tensorBytes: 1, parameters: 1 };
  const rows: unknown = JSON.parse(
    llamaBenchJson({
      model: { description, path: "m.gguf", argument: null } as unknown as Parameters<
        typeof llamaBenchJson
      >[0]["model"],
      tests: [test("pp", "2026-01-02T03:04:05.678Z"), test("tg", "2026-01-02T03:04:59.999Z")],
      threads: 1,
      machine: "M",
      backends: "CPU",
      cacheType: "f16",
      chunk: 512,
      mapped: true,
    }),
  );
  expect(rows).toMatchObject([
    { n_prompt: 8, test_time: "2026-01-02T03:04:05Z" },
    { n_gen: 8, test_time: "2026-01-02T03:04:59Z" },
  ]);
});
