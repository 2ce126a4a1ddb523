// What our backend adds to MLX: a decode step of a small model through it, against the same step written by hand in Python against
// MLX, in the same run, interleaved. Prints JSON with the ratio of medians. Goal: at most 1.2.
//   npx tsx bench/mlxOverhead.ts [--rounds 7] [--steps 200] [--preset tiny-qwen3]
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { MlxMode } from "../main/backends/mlx/engine.ts";
import { compile } from "../main/compiler/compile.ts";
import { openGguf } from "../main/formats/gguf/open.ts";
import { openFileSource } from "../main/node/fileByteSource.ts";
import { loadMlx } from "../main/node/mlxAddon.ts";
import { GREEDY } from "../main/runtime/generate.ts";
import { openMlxDecoder } from "../main/runtime/mlxDecoder.ts";
import { median } from "../main/runtime/statistics.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    steps: { type: "string", default: "200" },
    preset: { type: "string", default: "tiny-qwen3" },
  },
});
const [rounds, steps] = [Number(options.rounds), Number(options.steps)];
const folder = mkdtempSync(join(tmpdir(), "rlx-mlx-bench-"));
const path = join(folder, "model.gguf");
const python = join(root, ".venv/bin/python");
const made = spawnSync(
  python,
  ["-m", "sample.random_model", "--preset", options.preset, "--type", "f32", "--out", path],
  { cwd: join(root, "python"), stdio: ["ignore", "ignore", "inherit"] },
);
if (made.status !== 0) throw new Error("cannot make the model");

const file = await openGguf(await openFileSource(path));
const peer = spawn(python, [join(root, "bench/mlxStep.py"), path], {
  stdio: ["pipe", "pipe", "inherit"],
});
const answers = createInterface({ input: peer.stdout })[Symbol.asyncIterator]();

async function byHand(mode: string): Promise<{ readonly ms: number; readonly token: number }> {
  peer.stdin.write(`${mode} ${steps}\n`);
  const line = await answers.next();
  const [ms = NaN, token = NaN] = String(line.value).split(" ").map(Number);
  return { ms, token };
}

async function ours(mode: MlxMode): Promise<{ readonly ms: number; readonly inside: number; readonly token: number }> {
  const model = openMlxDecoder(loadMlx(), file, [path], {
    mode,
    cacheType: "f32",
    prepare: (graph) => compile(graph, { backend: "mlx" }).graph,
  });
  const session = model.compiled.open({ symbols: { capacity: 256 } });
  let token = 1;
  const times: number[] = [];
  const inside: number[] = [];
  for (let past = 0; past < steps; past++) {
    const start = performance.now();
    const { sampled, seconds } = await session.run({
      inputs: { tokens: Int32Array.of(token), past: Int32Array.of(past), logit_rows: Int32Array.of(0) },
      logits: "logits",
      sample: { ...GREEDY, recent: new Int32Array(0), step: past, alternatives: 0 },
    });
    token = sampled?.id ?? 0;
    times.push(performance.now() - start);
    inside.push(1000 * seconds);
  }
  session.dispose();
  model.dispose();
  return { ms: median(times), inside: median(inside), token };
}

// As MLX itself does it, and so as the step by hand does: element-wise calls of a trace become kernels.
loadMlx().setFusion(true);
const report: Record<string, unknown> = {};
for (const mode of ["compiled", "lazy"] as const) {
  const pairs: { readonly mine: number; readonly inside: number; readonly theirs: number }[] = [];
  for (let round = 0; round <= rounds; round++) {
    const theirs = await byHand(mode);
    const mine = await ours(mode);
    if (mine.token !== theirs.token) throw new Error(`${mode}: the tokens differ: ${mine.token}, ${theirs.token}`);
    // The first round warms both up.
    if (round > 0) pairs.push({ mine: mine.ms, inside: mine.inside, theirs: theirs.ms });
  }
  report[mode] = {
    oursMs: median(pairs.map((pair) => pair.mine)),
    // Without the way from JavaScript to the engine's thread and back.
    insideMs: median(pairs.map((pair) => pair.inside)),
    byHandMs: median(pairs.map((pair) => pair.theirs)),
    ratio: median(pairs.map((pair) => pair.mine / pair.theirs)),
  };
}
console.log(JSON.stringify({ preset: options.preset, steps, rounds, mlx: loadMlx().version, ...report }, null, 1));
peer.stdin.end();
await file.close();
rmSync(folder, { recursive: true, force: true });
