// An engine without token drawing is a whole engine: tokens are drawn and scored from the logits that it gives out.
import { expect, test } from "vitest";
import type { FetchedTensor, GraphRun, GraphSession } from "../ir/session.ts";
import { GREEDY_DRAW } from "./generate.ts";
import { tokensOf } from "./tokenRuns.ts";

const ROWS = [
  [0, 3, 1],
  [2, 0, 0],
];

/** Answers fixed rows of logits; remembers what it was asked for. */
function plainSession(rows: readonly (readonly number[])[], dtype: FetchedTensor["dtype"] = "f32") {
  const asked: GraphRun[] = [];
  const bytes = new Uint8Array(Float32Array.from(rows.flat()).buffer);
  const session: GraphSession = {
    threads: 1,
    run: (request) => {
      asked.push(request);
      const outputs = (request.fetch ?? []).filter((name) => name === "logits");
      return Promise.resolve({
        seconds: 1,
        outputs: Object.fromEntries(outputs.map((name) => [name, { dtype, shape: [rows.length, 3], bytes }])),
      });
    },
    fork: () => Promise.reject(new Error("not asked for")),
    save: () => Promise.reject(new Error("not asked for")),
    restore: () => Promise.resolve(),
    reset: () => Promise.resolve(),
    bytes: () => ({ reserved: 0, states: 0, used: 0 }),
    dispose: () => undefined,
  };
  return { asked, tokens: tokensOf(session) };
}
const inputs = {};
const logSum = (row: readonly number[]): number => Math.log(row.reduce((sum, x) => sum + Math.exp(x), 0));

test("draws from the last row, scores every row, and gives out what was asked for", async () => {
  const { asked, tokens } = plainSession(ROWS);
  const request = { inputs, logits: "logits", sample: GREEDY_DRAW, score: Int32Array.of(2, -1) };
  const { sampled, scored, outputs } = await tokens.run(request);
  expect(sampled?.id).toBe(0);
  expect(sampled?.logprob).toBeCloseTo(2 - logSum(ROWS[1]!), 12);
  expect([...scored!.best]).toEqual([1, 0]);
  expect(scored!.logprobs[0]).toBeCloseTo(1 - logSum(ROWS[0]!), 6);
  expect(outputs).toEqual({});
  expect(Object.keys((await tokens.run({ ...request, fetch: ["logits"] })).outputs)).toEqual(["logits"]);
  // The engine is asked for logits only, and only where they are read.
  await tokens.run({ inputs, logits: "logits" });
  expect(asked.map(({ fetch }) => fetch)).toEqual([["logits"], ["logits"], undefined]);
  expect(asked.every((run) => !("sample" in run) && !("score" in run))).toBe(true);
});

test("draws nothing from no rows", async () => {
  const { tokens } = plainSession([]);
  expect((await tokens.run({ inputs, logits: "logits", sample: GREEDY_DRAW })).sampled).toBeUndefined();
});

test("refuses what only an engine can do, and logits that are none", async () => {
  const { tokens } = plainSession(ROWS);
  expect([tokens.follows, tokens.series]).toEqual([false, false]);
  const series = { count: 2, token: "t", position: "p", endings: new Int32Array(0) };
  const request = { inputs, logits: "logits", sample: GREEDY_DRAW };
  for (const wrong of [
    { ...request, follow: "t" },
    { ...request, series },
    { ...request, logits: "y" },
  ])
    await expect(tokens.run(wrong)).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
  await expect(plainSession(ROWS, "f16").tokens.run(request)).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
});
