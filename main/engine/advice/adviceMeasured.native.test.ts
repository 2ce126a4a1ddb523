// An advice from its claim to its verdict, over a real engine: found, measured in turns, kept, and shown in the next list.
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TargetSpec } from "../../contract/views/common.ts";
import type { MeasureAdviceItem } from "../../contract/views/advice.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";

const TARGET: TargetSpec = { chip: "m4", os: "macos15", units: "all", profile: "auto", context: 512 };
const PAIRS = 6;

let harness: Harness;
let asked: { readonly model: string; readonly target: TargetSpec; readonly phase: "decode"; readonly backend: "cpu" };
beforeAll(async () => {
  // Two threads on a machine with one fast core, which is quiet, so that there is a verdict wherever this runs.
  harness = await engineHarness(
    {},
    {
      threads: 2,
      coreKinds: () => Promise.resolve({ performance: 1, efficiency: 1 }),
      readings: () => Promise.resolve([]),
      processorTimes: () => null,
    },
  );
  const path = join(harness.folder, "wide.gguf");
  await writeTinyGguf(path, { feedForward: 1 << 15, endless: true });
  const { model } = await harness.client.call("model.open", { source: { kind: "path", path } });
  asked = { model, target: TARGET, phase: "decode", backend: "cpu" };
});
afterAll(() => harness.done());

const listed = async () => {
  const { advices } = await harness.client.call("advice.list", asked);
  return advices.find(({ rule }) => rule === "threads");
};
const verdictIn = (items: readonly MeasureAdviceItem[]) =>
  items.flatMap((item) => (item.kind === "done" ? [item.verdict] : []));

it("measures an advice in turns and keeps the verdict beside it", async () => {
  expect(await listed()).toMatchObject({
    change: { kind: "threads", threads: 1 },
    canMeasure: { ok: true },
    verdict: null,
  });
  const measure = { ...asked, rule: "threads", pairs: PAIRS, tokens: 4 };
  const items = await harness.all("advice.measure", measure);
  const pairs = items.flatMap((item) => (item.kind === "pair" ? [item] : []));
  expect(pairs.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(pairs.every(({ before, after }) => before > 0 && after > 0)).toBe(true);
  const [verdict] = verdictIn(items);
  expect(verdict).toMatchObject({ pairs: PAIRS });
  expect(["faster", "slower", "no-difference"]).toContain(verdict?.outcome);
  const ratios = pairs.map(({ before, after }) => before / after);
  expect(verdict?.ratio?.value).toBeGreaterThanOrEqual(Math.min(...ratios));
  expect(verdict?.ratio?.value).toBeLessThanOrEqual(Math.max(...ratios));
  expect((await listed())?.verdict).toEqual(verdict);
});

it("ends when it is cancelled, and the next measurement finds the model free", async () => {
  const abort = new AbortController();
  const measure = { ...asked, rule: "threads", pairs: 100, tokens: 8 };
  const run = harness.client.stream("advice.measure", measure, { signal: abort.signal });
  await expect(
    (async () => {
      for await (const item of run) if (item.kind === "pair") abort.abort();
    })(),
  ).rejects.toMatchObject({ code: "CANCELLED" });
  expect(verdictIn(await harness.all("advice.measure", { ...measure, pairs: 1, tokens: 1 }))).toHaveLength(1);
});

it("names the advice that there is where another was asked for", async () => {
  await expect(harness.all("advice.measure", { ...asked, rule: "nothing" })).rejects.toMatchObject({
    code: "INPUT_ARGUMENT",
    message: expect.stringContaining("threads") as string,
  });
});
