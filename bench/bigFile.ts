// A sparse 20 GB file with a vocabulary of 150 000 tokens. Prints JSON; the window part needs `out/`.
// - Engine: time and memory of the overview, the folded graph, the graph with a predicted route, and the
//   route for another chip. Each run is a process of its own.
// - Window: from the click on the file to its overview, and from there to the folded, coloured graph.
//   Cold runs start a new browser and engine; warm runs open a new page over an engine that knows the
//   file. The system's file cache is warm in both.
//   npx tsx bench/bigFile.ts [--runs 10]
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Browser } from "@playwright/test";
import { median } from "../main/runtime/statistics.ts";
import { writeBigFile } from "../main/testing/bigGguf.ts";
import { goToStart, launch, OVERVIEW_SHOWN, root, serve, timed } from "./support/page.ts";

const { values } = parseArgs({ options: { runs: { type: "string", default: "10" } } });
const runs = Number(values.runs);
if (!Number.isInteger(runs) || runs < 1) throw new Error(`--runs: got ${values.runs}, expected 1 or more`);
const child = `
import { readFileSync, writeFileSync } from "node:fs";
import { nodeEngine } from ${JSON.stringify(join(root, "main/node/nodeEngine.ts"))};
import { readSettings } from ${JSON.stringify(join(root, "main/node/settings.ts"))};
const engine = nodeEngine({ settings: readSettings(process.env) });
const signal = new AbortController().signal;
const { handlers } = engine;
await handlers.calls["engine.info"]({}, { signal });
globalThis.gc?.();
const idle = process.memoryUsage.rss();
const isLinux = process.platform === "linux";
// Linux begins its high-water mark anew; elsewhere it is that of the whole process, which can only be larger.
if (isLinux) writeFileSync("/proc/self/clear_refs", "5");
const highest = () =>
  isLinux
    ? Number(/VmHWM:\\s+(\\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024
    : process.resourceUsage().maxRSS * 1024;
const start = performance.now();
const overview = await handlers.calls["model.open"]({ source: { kind: "path", path: process.argv[2] } }, { signal });
const opened = performance.now();
const peak = highest();
const target = overview.target;
await handlers.calls["graph.get"]({ model: overview.model, stage: { backend: "coreml", step: "legal", target }, phase: "decode" }, { signal });
const drawn = performance.now();
await handlers.calls["route.get"]({ model: overview.model, target, phase: "decode" }, { signal });
const routed = performance.now();
await handlers.calls["route.get"]({ model: overview.model, target: { ...target, chip: "m1" }, phase: "decode" }, { signal });
const again = performance.now();
console.log(JSON.stringify({
  overviewMs: opened - start,
  overviewMiB: (peak - idle) / 2 ** 20,
  graphMs: drawn - start,
  routedMs: routed - start,
  otherChipMs: again - routed,
  bytes: overview.file.bytes,
}));
await engine.dispose();
`;

interface Sample {
  readonly overviewMs: number;
  readonly overviewMiB: number;
  readonly graphMs: number;
  readonly routedMs: number;
  readonly otherChipMs: number;
  readonly bytes: number;
}

interface InWindow {
  readonly overviewMs: number;
  readonly foldedGraphMs: number;
}

/** From the start page, where the file stands among the recent ones, to the folded graph. */
async function openInPage(browser: Browser, url: string): Promise<InWindow> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await goToStart(page, url);
  const file = page.getByRole("button", { name: /Sparse 36B|sparse/ }).first();
  await file.waitFor();
  const overviewMs = await timed(page, () => file.click(), OVERVIEW_SHOWN);
  const coloured = `document.querySelector(".react-flow__node") !== null && document.querySelector('button[title^="Only "]') !== null`;
  const foldedGraphMs = await timed(page, () => page.locator("#tab-graph").click(), coloured);
  await page.close();
  return { overviewMs, foldedGraphMs };
}

/** An engine and a browser, for as long as `look` takes. */
async function withWindow<T>(
  words: readonly string[],
  home: string,
  look: (browser: Browser, url: string) => Promise<T>,
): Promise<T> {
  const served = await serve(home, ...words);
  const browser = await launch();
  try {
    return await look(browser, served.url);
  } finally {
    await browser.close();
    served.stop();
  }
}

/** The address opens the file by itself; the recent files are there once it did. Gives the address without the file. */
async function openOnce(browser: Browser, url: string): Promise<string> {
  const page = await browser.newPage();
  await page.goto(url);
  await page.locator("#tab-overview[aria-selected=true]").waitFor();
  await page.close();
  const start = new URL(url);
  const token = new URLSearchParams(start.hash.slice(1)).get("token");
  start.hash = `token=${token ?? ""}`;
  return start.href;
}

async function timesOver(count: number, once: () => Promise<InWindow>): Promise<readonly InWindow[]> {
  const samples: InWindow[] = [];
  for (let i = 0; i < count; i++) samples.push(await once());
  return samples;
}

const middleOf = <T>(samples: readonly T[], key: keyof T): number =>
  Number(median(samples.map((sample) => Number(sample[key]))).toFixed(1));

const windowTimes = (samples: readonly InWindow[]): InWindow => ({
  overviewMs: middleOf(samples, "overviewMs"),
  foldedGraphMs: middleOf(samples, "foldedGraphMs"),
});

const folder = mkdtempSync(join(tmpdir(), "rlx-big-"));
try {
  const path = join(folder, "sparse.gguf");
  writeBigFile(path);
  const script = join(folder, "child.mjs");
  writeFileSync(script, child);
  const samples = Array.from({ length: runs }, () => {
    const run = spawnSync(
      process.execPath,
      ["--expose-gc", "--import", join(root, "node_modules/tsx/dist/loader.mjs"), script, path],
      {
        cwd: root,
        encoding: "utf8",
        env: { ...process.env, RLX_HOME: join(folder, "home") },
      },
    );
    if (run.status !== 0) throw new Error(run.stderr);
    return JSON.parse(run.stdout) as Sample;
  });
  const home = join(folder, "home");
  const warm = await withWindow([path], home, async (browser, url) => {
    const start = await openOnce(browser, url);
    return timesOver(runs, () => openInPage(browser, start));
  });
  // The recent files are on the disk by now: a new engine knows the file and has not opened it.
  const cold = await timesOver(runs, () => withWindow([], home, openInPage));
  const engine = {
    overviewMs: middleOf(samples, "overviewMs"),
    overviewMiB: middleOf(samples, "overviewMiB"),
    graphMs: middleOf(samples, "graphMs"),
    routedGraphMs: middleOf(samples, "routedMs"),
    otherChipMs: middleOf(samples, "otherChipMs"),
  };
  const window = { cold: windowTimes(cold), warm: windowTimes(warm) };
  const goals = { engine: { overviewMs: 150, overviewMiB: 64 }, window: { overviewMs: 400, foldedGraphMs: 900 } };
  console.log(JSON.stringify({ fileBytes: samples[0]?.bytes, runs, engine, window, goals }, undefined, 2));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
