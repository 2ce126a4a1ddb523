// A request's line, from the numbers of its run through the log.
import { expect, it } from "vitest";
import type { RunStats } from "../../contract/views/run.ts";
import { createRequestLog } from "../api/requestLog.ts";
import { requestLine } from "./requestLine.ts";

const seconds = { value: 1, unit: "seconds", low: null, high: null, truth: "measured", basis: "" } as const;
const STATS: RunStats = {
  ...{ promptTokens: 30, reusedTokens: 10, recomputed: null, promptSeconds: seconds, promptRate: null },
  ...{ firstTokenSeconds: null, generated: 4, rate: null, rateNow: null },
  ...{ contextUsed: 34, contextSize: 64, cacheBytes: 0 },
};

/** What a server prints of a request whose run had these numbers. */
function lineOf(stats: RunStats, ...notes: readonly string[]): string {
  const log = createRequestLog(false);
  const lines: string[] = [];
  log.listen((request, beside) => {
    if (request.state === "done") lines.push(requestLine(request, beside));
  });
  const entry = log.begin("POST", "/v1/completions");
  entry.prompt()(0, stats, true);
  for (const note of notes) entry.note(note);
  entry.update({ state: "done", status: 200 });
  return lines.join("\n");
}

it("says how much of a prompt was known, what was computed again, and why", () => {
  expect(lineOf(STATS)).toContain("  30 prompt tokens, 10 of them reused  4 written");
  expect(lineOf({ ...STATS, reusedTokens: 0 })).toContain("  30 prompt tokens  4 written");
  const because = "its states cannot go back";
  expect(lineOf({ ...STATS, recomputed: { tokens: 12, because } })).toContain(
    `  30 prompt tokens, reused 10, recomputed 12, because ${because}  4 written`,
  );
});

it("says what of a request was left out", () => {
  expect(lineOf(STATS, "The model is not told of its tools.")).toMatch(
    / 4 written {2}The model is not told of its tools\.$/,
  );
});
