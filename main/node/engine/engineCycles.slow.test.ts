/** A hundred times open, run, cancel, close: the process that did it is no larger than after a few. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import type { Harness } from "./engineHarness.ts";
import { engineHarness } from "./engineHarness.ts";

const CYCLES = 100;
/** What the first cycles leave for good: compiled code, thread pools, caches of the runtime. */
const WARM_UP = 20;
/** A session of this model that stays would keep about 2 MiB of cache each time, 200 in all. */
const MOST_GROWTH = 48 << 20;

let harness: Harness;
let path: string;
beforeAll(async () => {
  harness = await engineHarness();
  path = join(harness.folder, "cycle.gguf");
  await writeTinyGguf(path, { layers: 8 });
});
afterAll(() => harness.done());

async function cycle(index: number): Promise<void> {
  const { client } = harness;
  const { model } = await client.call("model.open", { source: { kind: "path", path } });
  const abort = new AbortController();
  let last: unknown;
  const prompt = { kind: "completion", text: `the ${index}` } as const;
  for await (const item of client.stream("run.start", { model, prompt, maxTokens: 3000 }, { signal: abort.signal })) {
    if (item.kind === "token") abort.abort();
    last = item;
  }
  expect(last).toMatchObject({ kind: "done" });
  await client.call("model.close", { model });
}

it(`${CYCLES} cycles do not grow`, async () => {
  for (let i = 0; i < WARM_UP; i++) await cycle(i);
  const before = process.memoryUsage.rss();
  for (let i = 0; i < CYCLES; i++) await cycle(i);
  expect(process.memoryUsage.rss() - before).toBeLessThan(MOST_GROWTH);
  expect((await harness.client.call("engine.status", {})).jobs).toEqual([]);
});
