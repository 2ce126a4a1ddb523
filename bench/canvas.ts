// The budgets of the graph at about 10 000 and 32 000 ops, in Chromium over the built `rlx serve`: what a click shows and when, and
// the main thread's work for each interaction, with the longest of its tasks. Prints JSON, with how long a fixed loop takes here: compare numbers of two machines,
// or of two hours of one, by it. With --assert, ends with 1 when a budget is missed.
//   node scripts/build.mjs cli engine renderer && npx tsx bench/canvas.ts [--ops 10000,32000] [--repeats 3] [--assert]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { CDPSession, Page } from "@playwright/test";
import { median, quantile } from "../main/runtime/statistics.ts";
import { OPS_PER_BLOCK, writeDeepFile } from "./support/deepFile.ts";
import { longestTasks } from "./support/mainThread.ts";
import { has, launch, OVERVIEW_SHOWN, serve, timed } from "./support/page.ts";

const { values: options } = parseArgs({
  options: {
    ops: { type: "string", default: "10000,32000" },
    repeats: { type: "string", default: "3" },
    assert: { type: "boolean", default: false },
  },
});
const repeats = Number(options.repeats);
if (!Number.isInteger(repeats) || repeats < 1) throw new Error(`--repeats: got ${options.repeats}, expected 1 or more`);

/**
 * Milliseconds, to the painted frame that shows it; elements and cards are counts; the heap is the page's after a collection. `work`
 * is what the main thread does for one interaction, to the frame after it: a wheel step, a mode, an arrow, a fold; by the clock, so
 * that programs beside it count. `task` is the longest of its tasks, by the time of the thread. The next inspector shows what the
 * window knows of the op; its reason comes from the engine.
 */
const BUDGETS = {
  overview: 300,
  foldedGraph: 500,
  coloured: 3000,
  expandBlock: 100,
  firstInspector: 100,
  nextInspector: 100,
  nextReason: 100,
  recolour: 50,
  panWork: 10,
  panWorkP95: 20,
  workP95: 50,
  taskP95: 50,
  elements: 3500,
  cards: 250,
  heapMegabytes: 80,
} as const;
type Name = keyof typeof BUDGETS;
type Measured = Readonly<Record<Name, number>>;

const TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))";
/** What the inspector says. */
const SAID = '(document.querySelector("[aria-label=Inspector]")?.textContent ?? "")';
/** The first card of an op is there. */
const INSPECTED = `/Why here/.test(${SAID})`;

async function busy(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return 1000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN);
}

/** The main thread's work for each of some interactions, and the longest task of each. */
interface Work {
  readonly work: readonly number[];
  readonly task: readonly number[];
}

async function workOf(page: Page, session: CDPSession, acts: readonly (() => Promise<unknown>)[]): Promise<Work> {
  const work: number[] = [];
  const task = await longestTasks(page, async (mark) => {
    for (const act of acts) {
      await page.evaluate(TWO_FRAMES);
      await mark();
      const before = await busy(session);
      await act();
      await page.evaluate(TWO_FRAMES);
      work.push((await busy(session)) - before);
    }
  });
  return { work, task };
}

const times = (count: number, act: (i: number) => Promise<unknown>): readonly (() => Promise<unknown>)[] =>
  Array.from({ length: count }, (_, i) => () => act(i));

async function measure(page: Page, open: () => Promise<void>): Promise<Measured> {
  const overview = await timed(page, open, OVERVIEW_SHOWN);
  const graphTab = page.locator("#tab-graph");
  const foldedGraph = await timed(page, () => graphTab.click(), has(".react-flow__node"));
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const asked = performance.now();
  await page.locator('button[title^="Only "]').first().waitFor({ timeout: 60_000 });
  const coloured = foldedGraph + performance.now() - asked;
  await page.waitForTimeout(2000);
  const mode = (name: string) => page.getByRole("radio", { name, exact: true }).click();
  const recolour = await timed(
    page,
    () => mode("Bytes"),
    '[...document.querySelectorAll(".react-flow__node em")].some((each) => /B$/.test(each.textContent ?? ""))',
  );
  const modes = ["Device", "Segment", "Bytes", "FLOPs", "Weights", "Device"];
  const modeWork = await workOf(
    page,
    session,
    times(modes.length, (i) => mode(modes[i] ?? "Device")),
  );
  await page.locator(".react-flow__node").filter({ hasText: /×\d/ }).first().click();
  const expandBlock = await timed(page, () => page.keyboard.press("Enter"), has('button[aria-label^="Fold "]'));
  const search = page.getByLabel("Search the graph");
  await search.fill("op:attention layer:7");
  await page.waitForTimeout(1500);
  const firstInspector = await timed(page, () => search.press("Enter"), INSPECTED);
  await search.fill("op:linear layer:9");
  await page.waitForTimeout(1500);
  const nextInspector = await timed(
    page,
    () => search.press("Enter"),
    `${INSPECTED} && /^blk\\.9\\b/.test(${SAID}) && /linear/.test(${SAID})`,
  );
  await search.fill("op:linear layer:11");
  await page.waitForTimeout(1500);
  const nextReason = await timed(
    page,
    () => search.press("Enter"),
    `${INSPECTED} && /^blk\\.11\\b/.test(${SAID}) && !/Looking up/.test(${SAID})`,
  );
  const canvas = page.locator("[data-graph-canvas]");
  await canvas.focus();
  const arrowWork = await workOf(
    page,
    session,
    times(20, (i) => page.keyboard.press(i % 2 === 0 ? "ArrowLeft" : "ArrowRight")),
  );
  await page.keyboard.press("Shift+E");
  await page.waitForTimeout(3000);
  const box = await canvas.boundingBox();
  if (box === null) throw new Error("the canvas has no box");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const panWork = await workOf(
    page,
    session,
    times(60, (i) => page.mouse.wheel(i % 20 < 10 ? 60 : -60, 120)),
  );
  const allModes = await workOf(
    page,
    session,
    times(modes.length, (i) => mode(modes[i] ?? "Device")),
  );
  const [elements = 0, cards = 0] = await page.evaluate<number[]>(
    '["*", ".react-flow__node"].map((selector) => document.querySelectorAll(selector).length)',
  );
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return {
    ...{ overview, foldedGraph, coloured, expandBlock, firstInspector, nextInspector, nextReason },
    ...{ recolour, elements, cards },
    panWork: median(panWork.work),
    panWorkP95: quantile(panWork.work, 0.95),
    workP95: quantile(
      [modeWork, arrowWork, panWork, allModes].flatMap(({ work }) => work),
      0.95,
    ),
    taskP95: quantile(
      [modeWork, arrowWork, panWork, allModes].flatMap(({ task }) => task),
      0.95,
    ),
    heapMegabytes: usedSize / 1e6,
  };
}

/** Whole numbers only: it says how fast this machine is now, and nothing of our code. */
function fixedLoop(): number {
  const before = process.cpuUsage();
  let mixed = 1;
  for (let i = 0; i < 100_000_000; i++) mixed = (Math.imul(mixed, 1_664_525) + 1_013_904_223) | 0;
  if (mixed === 0) throw new Error("the loop came out as zero");
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const home = mkdtempSync(join(tmpdir(), "rlx-bench-canvas-"));
const served = await serve(join(home, "home"));
const browser = await launch();
const results: { readonly ops: number; readonly loop: number; readonly numbers: unknown }[] = [];
try {
  for (const ops of options.ops.split(",").map(Number)) {
    const path = join(home, `deep-${ops}.gguf`);
    writeDeepFile(path, Math.round(ops / OPS_PER_BLOCK));
    const runs: Measured[] = [];
    for (let i = 0; i < repeats; i++) {
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
      await page.goto(await served.address());
      await page.getByRole("button", { name: "Paste a path" }).click();
      await page.getByRole("textbox", { name: /path/i }).fill(path);
      runs.push(await measure(page, () => page.keyboard.press("Enter")));
      await page.close();
    }
    const numbers = (Object.keys(BUDGETS) as Name[]).map((name) => {
      const samples = runs.map((run) => Math.round(run[name] * 10) / 10);
      return {
        name,
        median: median(samples),
        budget: BUDGETS[name],
        within: median(samples) <= BUDGETS[name],
        samples,
      };
    });
    results.push({ ops, loop: Math.round(fixedLoop()), numbers });
    if (options.assert && numbers.some(({ within }) => !within)) process.exitCode = 1;
  }
  console.log(JSON.stringify({ repeats, results }, undefined, 2));
} finally {
  await browser.close();
  served.stop();
  rmSync(home, { recursive: true, force: true });
}
