// The numbers of a request with several answers: as its usage has them.
import { expect, it } from "vitest";
import type { RunStats } from "../../contract/views/run.ts";
import { createRequestLog } from "./requestLog.ts";

const figure = (value: number) =>
  ({ value, unit: "tokens/s", low: null, high: null, truth: "measured", basis: "" }) as const;
const stats = (generated: number, more: Partial<RunStats> = {}): RunStats => ({
  ...{ promptTokens: 30, reusedTokens: 10, recomputed: null, promptSeconds: figure(1), promptRate: figure(20) },
  ...{ firstTokenSeconds: null, generated, rate: figure(5), rateNow: null },
  ...{ contextUsed: 34, contextSize: 64, cacheBytes: 0 },
  ...more,
});

it("adds the tokens of all answers to a prompt, which counts once", () => {
  const entry = createRequestLog(false).begin("POST", "/v1/chat/completions");
  const tell = entry.prompt();
  tell(0, stats(2));
  expect(entry.request()).toMatchObject({ generatedTokens: 2, rate: figure(5), promptRate: figure(20) });
  tell(0, stats(10));
  tell(1, stats(10, { reusedTokens: 29 }), true);
  tell(2, stats(10, { reusedTokens: 29 }), true);
  expect(entry.request()).toMatchObject({ promptTokens: 30, reusedTokens: 10, generatedTokens: 30 });
  // Each answer has its own.
  expect(entry.request()).toMatchObject({ rate: null, promptRate: null });
});

it("adds the tokens of several prompts, and what was computed again", () => {
  const log = createRequestLog(false);
  const again: RunStats["recomputed"][] = [];
  log.listen((_request, { recomputed }) => again.push(recomputed));
  const entry = log.begin("POST", "/v1/completions");
  const because = "its states cannot go back";
  entry.prompt()(0, stats(4, { recomputed: { tokens: 3, because } }), true);
  entry.prompt()(0, stats(5, { promptTokens: 8, recomputed: { tokens: 4, because } }), true);
  expect(entry.request()).toMatchObject({ promptTokens: 38, reusedTokens: 20, generatedTokens: 9 });
  expect(again.at(-1)).toEqual({ tokens: 7, because });
});
