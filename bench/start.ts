// From the start of `rlx run` to its first written character, with the compile cache and without, interleaved. Prints JSON.
//   node scripts/build.mjs cli && npx tsx bench/start.ts [--file MODEL.gguf] [--repeats 10] [--threads 2] [--cli out/cli/rlx.js]
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { median } from "../main/runtime/statistics.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values: options } = parseArgs({
  options: {
    file: { type: "string", default: join(tmpdir(), "rlx-bench-models/qwen3-0.6b-q8_0.gguf") },
    repeats: { type: "string", default: "10" },
    threads: { type: "string", default: "2" },
    cli: { type: "string", default: join(root, "out/cli/rlx.js") },
  },
});
const prompt = "The quick brown ";

/** Seconds from spawn to the first byte on stdout. */
function firstByte(cache: string): Promise<number> {
  const started = performance.now();
  const parameters = [options.cli, "run", options.file, "-p", prompt, "-n", "1", "--threads", options.threads];
  const child = spawn(process.execPath, parameters, {
    env: { ...process.env, RLX_CACHE: cache },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return new Promise((resolve, reject) => {
    let seconds: number | undefined;
    let said = "";
    child.stdout.once("data", () => (seconds = (performance.now() - started) / 1000));
    child.stderr.on("data", (text: Buffer) => (said += text.toString()));
    child.on("close", (code) => {
      if (code === 0 && seconds !== undefined) resolve(seconds);
      else reject(new Error(`rlx run ended with ${String(code)}: ${said}`));
    });
  });
}

const cache = mkdtempSync(join(tmpdir(), "rlx-start-"));
try {
  const cold: number[] = [];
  const warm: number[] = [];
  // The first pair fills the page cache and the compile cache.
  for (let i = 0; i <= Number(options.repeats); i++) {
    const [without, with_] = [await firstByte("off"), await firstByte(cache)];
    if (readdirSync(cache).length !== 1) throw new Error("this build keeps no plan: build it with scripts/build.mjs");
    if (i === 0) continue;
    cold.push(without);
    warm.push(with_);
  }
  const result = {
    file: options.file,
    withoutCache: median(cold),
    withCache: median(warm),
    ratio: median(warm.map((seconds, i) => seconds / (cold[i] ?? NaN))),
    saved: median(cold.map((seconds, i) => seconds - (warm[i] ?? NaN))),
  };
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
  rmSync(cache, { recursive: true, force: true });
}
