// Overhead of our backend over MLX: a decode step of a small model, against the same step written by hand
// in Python. Short blocks of steps take turns, and the first one changes from round to round. Prints the
// medians of the blocks' ratios as JSON. Goal: at most 1.2. In `generation` the next step starts before
// the token is read, as in use; in `awaited` each step waits for the one before it.
//   npx tsx bench/mlxOverhead.ts [--rounds 15] [--steps 60] [--preset tiny-qwen3]
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compileNow } from "../main/compiler/compile.ts";
import { openGguf } from "../main/formats/gguf/open.ts";
import { openFileSource } from "../main/node/files/fileByteSource.ts";
import { loadMlx } from "../main/node/native/mlxAddon.ts";
import { GREEDY_DRAW } from "../main/runtime/generate.ts";
import type { SampleOptions } from "../main/ir/session.ts";
import type { MlxDecoderModel } from "../main/runtime/devices/mlx.ts";
import { openMlxDecoder } from "../main/runtime/devices/mlx.ts";
import { median } from "../main/runtime/statistics.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "15" },
    steps: { type: "string", default: "60" },
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

type Block = { readonly ms: number; readonly token: number };

async function byHand(mode: string): Promise<Block> {
  peer.stdin.write(`${mode} ${steps}\n`);
  const line = await answers.next();
  const [ms = NaN, token = NaN] = String(line.value).split(" ").map(Number);
  return { ms, token };
}

/** Median milliseconds from one token to the next. */
class Steps {
  readonly #times: number[] = [];
  #last = performance.now();

  add(): void {
    const now = performance.now();
    this.#times.push(now - this.#last);
    this.#last = now;
  }
  get median(): number {
    return median(this.#times);
  }
}
const greedily = (step: number): SampleOptions => ({ ...GREEDY_DRAW, step });

async function generated(model: MlxDecoderModel): Promise<Block> {
  const session = model.open({ context: 256 });
  const times = new Steps();
  let token = (await session.feed(Int32Array.of(1), { sample: greedily(0) }))?.id ?? -1;
  times.add();
  for await (const drawn of session.draw(token, { count: steps - 1, sampling: (_, step) => greedily(step + 1) })) {
    token = drawn.id;
    times.add();
  }
  session.dispose();
  return { ms: times.median, token };
}

async function awaited(model: MlxDecoderModel): Promise<Block> {
  const session = model.compiled.open({ symbols: { capacity: 256 } });
  const times = new Steps();
  let token = 1;
  for (let past = 0; past < steps; past++) {
    const inputs = { tokens: Int32Array.of(token), past: Int32Array.of(past), logit_rows: Int32Array.of(0) };
    token = (await session.tokens.run({ inputs, logits: "logits", sample: greedily(past) })).sampled?.id ?? -1;
    times.add();
  }
  session.dispose();
  return { ms: times.median, token };
}

// As MLX itself does it, and so as the step by hand does: element-wise calls of a trace become kernels.
loadMlx().setFusion(true);
const report: Record<string, unknown> = {};
for (const mode of ["compiled", "lazy"] as const) {
  const model = openMlxDecoder(loadMlx(), file, [path], {
    mode,
    cacheType: "f32",
    prepare: (graph) => compileNow(graph, { backend: "mlx" }).graph,
  });
  const ways = { byHand: () => byHand(mode), generation: () => generated(model), awaited: () => awaited(model) };
  const order = ["byHand", "generation", "awaited"] as const;
  const found = { byHand: [] as number[], generation: [] as number[], awaited: [] as number[] };
  // The first round warms all up.
  for (let round = 0; round <= rounds; round++) {
    const tokens = new Set<number>();
    for (let turn = 0; turn < order.length; turn++) {
      const way = order[(round + turn) % order.length] ?? "byHand";
      const { ms, token } = await ways[way]();
      tokens.add(token);
      if (round > 0) found[way].push(ms);
    }
    if (tokens.size > 1) throw new Error(`${mode}: the tokens differ: ${[...tokens].join(", ")}`);
  }
  model.dispose();
  const ratio = (way: "generation" | "awaited"): number =>
    median(found[way].map((ms, i) => ms / (found.byHand[i] ?? NaN)));
  report[mode] = {
    byHandMs: median(found.byHand),
    generationMs: median(found.generation),
    awaitedMs: median(found.awaited),
    generationRatio: ratio("generation"),
    awaitedRatio: ratio("awaited"),
  };
}
console.log(JSON.stringify({ preset: options.preset, steps, rounds, mlx: loadMlx().version, ...report }, null, 1));
peer.stdin.end();
await file.close();
rmSync(folder, { recursive: true, force: true });
