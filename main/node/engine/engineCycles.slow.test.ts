/**
 * A hundred times open, run, cancel, close: afterwards the process holds no more than before. What a process takes while it
 * warms up (compiled code, arenas of the allocator, room of the collector) differs between machines, so garbage is collected
 * before each look, and each look is the least of several. The second test leaves models open and has to be caught.
 */
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { collectGarbage } from "../../testing/collectGarbage.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { loadAddon } from "../addon.ts";
import type { Harness } from "./engineHarness.ts";
import { engineHarness } from "./engineHarness.ts";

const CYCLES = 100;
/** After some 50 cycles neither heap nor resident memory rises any more; 400 were tried. */
const WARM_UP = 60;
/** Looks per measurement, with a few cycles between them. */
const LOOKS = 5;
const BETWEEN = 3;
/** Words of the prompt: they fill the cache, so that a session which stays keeps about 4 MiB, 400 in all. */
const WORDS = 200;
/** Without a leak the resident memory moves by some 10 MiB, the heap by less than half of one. */
const MOST = { resident: 48 << 20, heap: 3 << 20 };

interface Memory {
  readonly resident: number;
  readonly heap: number;
}

let harness: Harness;
let path: string;
/** Why each run ended. */
const ends: string[] = [];
beforeAll(async () => {
  harness = await engineHarness();
  path = join(harness.folder, "cycle.gguf");
  await writeTinyGguf(path, { layers: 8 });
});
afterAll(() => harness.done());

/** Opens, runs, and cancels at the first token; gives the model, still open. */
async function openAndCancel(): Promise<string> {
  const { client } = harness;
  const { model } = await client.call("model.open", { source: { kind: "path", path } });
  const abort = new AbortController();
  let last: unknown;
  const prompt = { kind: "completion", text: "the ".repeat(WORDS) } as const;
  for await (const item of client.stream("run.start", { model, prompt, maxTokens: 3000 }, { signal: abort.signal })) {
    if (item.kind === "token") abort.abort();
    last = item;
  }
  expect(last).toMatchObject({ kind: "done" });
  ends.push((last as { readonly reason: string }).reason);
  return model;
}

async function cycles(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await harness.client.call("model.close", { model: await openAndCancel() });
}

async function held(): Promise<Memory> {
  const looks: Memory[] = [];
  for (let i = 0; i < LOOKS; i++) {
    await cycles(BETWEEN);
    collectGarbage();
    const { rss, heapUsed } = process.memoryUsage();
    looks.push({ resident: rss, heap: heapUsed });
  }
  return {
    resident: Math.min(...looks.map((look) => look.resident)),
    heap: Math.min(...looks.map((look) => look.heap)),
  };
}

it(`${CYCLES} cycles do not grow`, async () => {
  await cycles(WARM_UP);
  const before = await held();
  await cycles(CYCLES);
  const after = await held();
  expect(after.resident - before.resident).toBeLessThan(MOST.resident);
  expect(after.heap - before.heap).toBeLessThan(MOST.heap);
  expect(loadAddon().counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
  expect((await harness.client.call("engine.status", {})).jobs).toEqual([]);
  // A model may say its last word before the cancel comes.
  expect(ends.filter((reason) => reason === "cancelled").length).toBeGreaterThan(0.9 * ends.length);
});

it("models that stay open are found by all three measures", async () => {
  const before = await held();
  const open: string[] = [];
  for (let i = 0; i < CYCLES; i++) open.push(await openAndCancel());
  const after = await held();
  expect(after.resident - before.resident).toBeGreaterThan(MOST.resident);
  expect(after.heap - before.heap).toBeGreaterThan(MOST.heap);
  expect(loadAddon().counts()).toMatchObject({ weights: open.length, sessions: open.length });
  for (const model of open) await harness.client.call("model.close", { model });
});
