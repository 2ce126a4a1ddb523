// Speed against llama.cpp on the same random-weight files in the same run: a prompt of 512, 64 generated
// tokens, and the way of a process to its first token. Prints JSON with the goals and whether they are
// met. Other work slows both programs, so runs are interleaved and judged by the median of their ratios.
// Two baselines take turns: a plain read loop, and a program that only walks the model's file
// (support/walk.cpp), whose ratio is about the highest possible. Then short runs of both programs, sorted
// by memory bandwidth at the time (support/memoryStates.ts).
//   npx tsx bench/generation.ts [--only qwen3-0.6b-q4_k_m] [--repeats 3] [--pp 512] [--tg 64]
//     [--threads 2] [--turns 24] [--skip-start]
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildSync } from "esbuild";
import { openGguf } from "../main/formats/gguf/open.ts";
import { loadAddon } from "../main/node/native/addon.ts";
import { openFileSource } from "../main/node/files/fileByteSource.ts";
import { runBench } from "../main/runtime/bench.ts";
import { completeProfile } from "../main/contract/recordings/complete.ts";
import { profileColumns } from "../main/engine/measure/profileColumns.ts";
import { profileDecoder } from "../main/runtime/profile.ts";
import { median } from "../main/runtime/statistics.ts";
import { alongMemory } from "./support/memoryStates.ts";
import { openModel } from "./support/openModel.ts";
import { llamaOptions, runPair } from "./support/pairs.ts";
import type { Pair } from "./support/pairs.ts";
import { buildWalk, startWalk } from "./support/walk.ts";
import { llamaBench, llamaForget, llamaMissing } from "../main/testing/llama.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    repeats: { type: "string", default: "3" },
    pp: { type: "string", default: "512" },
    tg: { type: "string", default: "64" },
    threads: { type: "string", default: "2" },
    models: { type: "string", default: join(tmpdir(), "rlx-bench-models") },
    turns: { type: "string", default: "24" },
    "skip-start": { type: "boolean", default: false },
  },
});
const [repeats, pp, tg, threads, turns] = [options.repeats, options.pp, options.tg, options.threads, options.turns].map(
  Number,
) as [number, number, number, number, number];
const presets = ["qwen3-0.6b", "llama-3.2-1b"] as const;
const types = ["q8_0", "q4_k_m"] as const;
const text = "The quick brown fox jumps over the lazy dog and then it sleeps in the warm sun until the evening comes.";

function modelFile(preset: string, type: string): string {
  const path = join(options.models, `${preset}-${type}.gguf`);
  if (existsSync(path)) return path;
  mkdirSync(options.models, { recursive: true });
  const python = join(root, ".venv/bin/python");
  const made = spawnSync(python, ["-m", "sample.random_model", "--preset", preset, "--type", type, "--out", path], {
    cwd: join(root, "python"),
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (made.status !== 0) throw new Error(`cannot make ${path}`);
  return path;
}

/** Seconds from spawn to the answer. */
function timed(arguments_: readonly string[], cwd: string): number {
  const start = performance.now();
  const run = spawnSync(process.execPath, arguments_, { cwd, encoding: "utf8" });
  if (run.status !== 0) throw new Error(`${arguments_.join(" ")}: ${run.stderr}`);
  return (performance.now() - start) / 1000;
}

function startRatios(path: string, bundle: string, addon: string): { ours: number[]; theirs: number[]; ratio: number } {
  const [ours, theirs]: [number[], number[]] = [[], []];
  const runOurs = () => timed([bundle, path, addon, text, String(threads)], root);
  const runTheirs = () =>
    timed([join(root, "bench/peers/firstToken.mjs"), path, text, String(threads)], join(root, "bench/peers"));
  for (let i = 0; i <= repeats; i++) {
    const first = i % 2 === 1 ? runTheirs() : undefined;
    const mine = runOurs();
    const peer = first ?? runTheirs();
    if (i === 0) continue; // the first pair warms the page cache
    ours.push(mine);
    theirs.push(peer);
  }
  return { ours, theirs, ratio: median(ours.map((seconds, i) => seconds / (theirs[i] ?? NaN))) };
}

const missing = llamaMissing();
if (missing !== undefined) throw new Error(missing);
const bundle = join(mkdtempSync(join(tmpdir(), "rlx-bench-")), "firstToken.mjs");
buildSync({
  entryPoints: [join(root, "bench/firstTokenOurs.ts")],
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  outfile: bundle,
  minify: true,
});
const addon = join(root, "native/build/rlx.node");

const walkProgram = buildWalk();
const engine = loadAddon();
/** Ratios to llama.cpp that are aimed at, and the one below which nothing may be. */
const GOALS = { generation: 1.3, prompt: 1.2, processStartToFirstToken: 0.7, leastOfAny: 1 };
/** Tokens of a short run: of ours the first ones come one by one, which costs it a little. */
const SHORT = 24;
/** One pass over much more than the caches hold, in bytes per second. */
const readLoop = (): Promise<number> => engine.readBandwidth(threads, 384 << 20, 0.001);
const results = [];
for (const preset of presets)
  for (const type of types) {
    const name = `${preset}-${type}`;
    if (options.only !== undefined && options.only !== name) continue;
    const path = modelFile(preset, type);
    const file = await openGguf(await openFileSource(path));
    const model = openModel(engine, file, path, threads);
    const session = model.open({ context: pp + tg + 64 });
    await runBench(session, { promptTokens: pp, generateTokens: 4, repeats: 1, warmup: 0 });
    const weightBytes = model.compiled.weightBytes;
    // Products of a token: q, k and v in one, output, gate and up in one, down; and the logits.
    const walk = startWalk(walkProgram, path, threads, 4 * model.architecture.layers + 1);
    const rows: (Pair & { readonly readLoop: number; readonly walk: number })[] = [];
    for (let i = 0; i < repeats; i++) {
      const before = await readLoop();
      const pair = await runPair(session, path, { pp, tg, threads, theirsFirst: i % 2 === 1 });
      const walked = await walk.rate();
      const after = await readLoop();
      rows.push({ ...pair, readLoop: (before + after) / 2, walk: walked });
      console.error(`${name} ${i + 1}/${repeats}: ${JSON.stringify(rows.at(-1))}`);
    }
    const short = { promptTokens: 0, generateTokens: SHORT, repeats: 1, warmup: 0 };
    const byMemory = await alongMemory(walk, turns, {
      ours: async () => ((await runBench(session, short))[0]?.median ?? NaN) * weightBytes,
      llama: async () => {
        const run = { prompt: 1, generate: SHORT, repeats: 1 };
        const { generateSeconds } = await llamaBench(path, run, llamaOptions(threads));
        return (SHORT / (generateSeconds[0] ?? NaN)) * weightBytes;
      },
    });
    console.error(`${name} by memory: ${JSON.stringify(byMemory)}`);
    const report = await profileDecoder(model.compiled.steps, session, { promptTokens: 64, generateTokens: 8 });
    const profile = completeProfile(
      profileColumns(report, {
        ...{ model: name, machine: "", device: "cpu", note: "", threads },
        peakBandwidth: median(rows.map((row) => row.readLoop)),
        lane: { title: "CPU", device: "cpu" },
      }),
    );
    await llamaForget(path);
    walk.stop();
    session.dispose();
    const generateRate = median(rows.map((row) => row.oursGenerate));
    const promptRatio = median(rows.map((row) => row.oursPrompt / row.theirsPrompt));
    const generateRatio = median(rows.map((row) => row.oursGenerate / row.theirsGenerate));
    const start = options["skip-start"] ? undefined : startRatios(path, bundle, addon);
    const share = (rate: (row: (typeof rows)[number]) => number): number =>
      median(rows.map((row) => (rate(row) * weightBytes) / row.readLoop));
    results.push({
      model: name,
      prompt: {
        ours: median(rows.map((row) => row.oursPrompt)),
        llama: median(rows.map((row) => row.theirsPrompt)),
        ratio: promptRatio,
      },
      generation: {
        ours: generateRate,
        llama: median(rows.map((row) => row.theirsGenerate)),
        ratio: generateRatio,
      },
      ...(start && { processStartToFirstToken: start }),
      met: {
        generation: generateRatio >= GOALS.generation,
        prompt: promptRatio >= GOALS.prompt,
        ...(start && { processStartToFirstToken: start.ratio <= GOALS.processStartToFirstToken }),
        leastOfAny: Math.min(generateRatio, promptRatio) >= GOALS.leastOfAny,
      },
      weightBytes,
      bytesPerSecond: generateRate * weightBytes,
      readBandwidth: median(rows.map((row) => row.readLoop)),
      shareOfReadBandwidth: {
        ours: share((row) => row.oursGenerate),
        llama: share((row) => row.theirsGenerate),
        goal: share((row) => GOALS.generation * row.theirsGenerate),
      },
      bareWalk: {
        bytesPerSecond: median(rows.map((row) => row.walk)),
        oursOfIt: median(rows.map((row) => (row.oursGenerate * weightBytes) / row.walk)),
        highestRatio: median(rows.map((row) => row.walk / (row.theirsGenerate * weightBytes))),
      },
      byMemory,
      token: profile.decode.rows.map((row) => ({
        op: row.op,
        share: row.share,
        microseconds: row.seconds * 1e6,
        bandwidth: row.bandwidth,
      })),
    });
    model.dispose();
    await file.close();
  }
console.log(
  JSON.stringify(
    { threads, promptTokens: pp, generateTokens: tg, repeats, kernels: engine.isa, goals: GOALS, results },
    null,
    2,
  ),
);
process.exit(0);
