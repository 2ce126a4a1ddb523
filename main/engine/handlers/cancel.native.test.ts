/**
 * Cancel is answered within 100 ms, wherever the engine is in its work. What is measured runs from the moment of the wish to cancel
 * (a timer, so that a held event loop counts) until the engine has answered something else; the median of
 * several moments of the work is printed. The bound is the promise itself. It grows with what everything takes longer on a busy
 * machine, but not beyond two and a half times: that is a loop that never looks up.
 */
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TargetSpec } from "../../contract/views/common.ts";
import { toWireError } from "../../diagnostics/errors.ts";
import { median } from "../../runtime/statistics.ts";
import { allowedNow } from "../../testing/pace.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";

const GOAL_MS = 100;
const MOST_MS = 250;
const TARGET: TargetSpec = { chip: "m4", os: "macos15", units: "cpu-ane", profile: "auto", context: 4096 };

let harness: Harness;
/** Blocks enough that none of the work below is done before it is cancelled. */
let slow: string;
let deep: string;
beforeAll(async () => {
  harness = await engineHarness();
  const path = join(harness.folder, "slow.gguf");
  await writeTinyGguf(path, { layers: 96 });
  const { client } = harness;
  slow = (await client.call("model.open", { source: { kind: "path", path } })).model;
  deep = (await client.call("model.open", { source: { kind: "offer", id: "header-only-400" } })).model;
  // Compiled once, so that what is cancelled is the work itself.
  await harness.all("run.start", { model: slow, prompt: { kind: "completion", text: "the" }, maxTokens: 1 });
});
afterAll(() => harness.done());

type Work = (signal: AbortSignal, round: number) => Promise<unknown>;

const stream =
  (...[method, input]: Parameters<Harness["all"]>): Work =>
  (signal) =>
    harness.all(method, input, { signal });

const LONG = { kind: "completion", text: "the thing ".repeat(400) } as const;
/** In which it has room: a prompt that has none is refused before any of it is read. */
const LONG_CONTEXT = 8192;
const exported = (round: number): string => join(harness.folder, `slow-${round}.mlpackage`);

/** What is cancelled, and after how many milliseconds. */
const WORKS: readonly { readonly name: string; readonly after: readonly number[]; readonly work: Work }[] = [
  {
    name: "generation",
    after: [300, 350, 400, 450, 500],
    work: (signal, round) =>
      stream("run.start", {
        model: slow,
        prompt: { kind: "completion", text: "the" },
        maxTokens: 4000,
        sampling: { temperature: 0 },
      })(signal, round),
  },
  {
    name: "reading a long prompt",
    after: [20, 40, 60, 80, 100],
    // Each from its first token: a prompt that is known already takes no time.
    work: (signal, round) =>
      stream("run.start", {
        model: slow,
        prompt: { ...LONG, text: `${round} ${LONG.text}` },
        context: LONG_CONTEXT,
        maxTokens: 1,
      })(signal, round),
  },
  {
    name: "bench",
    after: [50, 150, 300, 450, 600],
    work: (signal, round) =>
      stream("bench.run", { model: slow, promptTokens: 3000, generateTokens: 1000, repeats: 50 })(signal, round),
  },
  {
    name: "profile",
    after: [50, 150, 300, 450, 600],
    work: (signal, round) =>
      stream("profile.run", { model: slow, promptTokens: 2000, generateTokens: 1000 })(signal, round),
  },
  {
    name: "export",
    after: [20, 100, 250, 400, 550],
    work: (signal, round) =>
      stream("export.start", { model: slow, target: TARGET, path: exported(round), overwrite: false })(signal, round),
  },
  {
    name: "routing",
    after: [20, 100, 200, 300, 400],
    // Another context each time: a route that is known takes no time.
    work: (signal, round) =>
      harness.client.call(
        "route.get",
        { model: deep, target: { ...TARGET, context: 1000 + round }, phase: "decode" },
        { signal },
      ),
  },
  {
    name: "a graph",
    after: [20, 60, 100, 150, 200],
    work: (signal, round) =>
      harness.client.call(
        "graph.get",
        {
          model: deep,
          stage: { backend: "coreml", step: "legal", target: { ...TARGET, context: 2000 + round } },
          phase: "prefill",
        },
        { signal },
      ),
  },
];

/** Milliseconds from the wish to cancel to the next answer of the engine, or undefined when the work was done before. */
async function answeredAfter(work: Work, after: number, round: number): Promise<number | undefined> {
  const cancel = new AbortController();
  const wished = performance.now() + after;
  let early = false;
  const running = work(cancel.signal, round).then(
    (items) => {
      const last: unknown = Array.isArray(items) ? items.at(-1) : undefined;
      early ||= !cancel.signal.aborted;
      // A run that is cancelled ends with a report that says so.
      if (Array.isArray(items)) expect(last).toMatchObject({ kind: "done", reason: "cancelled" });
    },
    (error: unknown) => expect(toWireError(error).code).toBe("CANCELLED"),
  );
  await wait(after);
  cancel.abort();
  await running;
  await harness.client.call("engine.status", {});
  return early ? undefined : performance.now() - wished;
}

it.each(WORKS)("$name", async ({ name, after, work }) => {
  const times: number[] = [];
  for (const [round, delay] of after.entries()) {
    const time = await answeredAfter(work, delay, round);
    if (time !== undefined) times.push(time);
  }
  const middle = median(times);
  const allowed = await allowedNow(GOAL_MS);
  console.log(
    `cancel of ${name}: median ${middle.toFixed(0)} ms of ${times.length} (${times.map((time) => time.toFixed(0)).join(", ")}), ${allowed.sentence}`,
  );
  // All of them were cancelled in the middle.
  expect(times.length).toBe(after.length);
  expect(middle, allowed.sentence).toBeLessThan(Math.min(allowed.ms, MOST_MS));
});
