// Export of a 1B-class Q4_K_M file as .mlpackage against a copy of the same file with fsync, in one run: seconds, ratio, peak
// memory of the exporting process, package size over file size. Prints JSON.
//   npx tsx bench/export.ts [--file MODEL.gguf] [--profile gpu] [--repeats 3] [--out FOLDER]
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildSync } from "esbuild";
import { median } from "../main/runtime/statistics.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values: options } = parseArgs({
  options: {
    file: { type: "string" },
    profile: { type: "string", default: "gpu" },
    repeats: { type: "string", default: "3" },
    out: { type: "string", default: tmpdir() },
  },
});

function modelFile(): string {
  if (options.file !== undefined) return options.file;
  const folder = join(tmpdir(), "rlx-bench-models");
  const path = join(folder, "llama-3.2-1b-q4_k_m.gguf");
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const made = spawnSync(
    join(root, ".venv/bin/python"),
    ["-m", "sample.random_model", "--preset", "llama-3.2-1b", "--type", "q4_k_m", "--out", path],
    {
      cwd: join(root, "python"),
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  if (made.status !== 0) throw new Error(`cannot make ${path}`);
  return path;
}

/** Seconds of a plain copy in 8 MB pieces, made durable. */
async function copySeconds(from: string, to: string): Promise<number> {
  const start = performance.now();
  const [source, target] = [await open(from, "r"), await open(to, "w")];
  const piece = new Uint8Array(8 << 20);
  for (let at = 0; ;) {
    const { bytesRead } = await source.read(piece, 0, piece.length, at);
    if (bytesRead === 0) break;
    await target.write(piece, 0, bytesRead, at);
    at += bytesRead;
  }
  await target.sync();
  await Promise.all([source.close(), target.close()]);
  return (performance.now() - start) / 1000;
}

interface Exported {
  readonly seconds: number;
  readonly peakMegabytes: number;
  readonly packageBytes: number;
  readonly worstRms: number;
}

function exportOnce(bundle: string, file: string, target: string): Exported {
  const run = spawnSync(process.execPath, [bundle, file, target, options.profile], { encoding: "utf8" });
  if (run.status !== 0) throw new Error(run.stderr);
  return JSON.parse(run.stdout) as Exported;
}

const scratch = mkdtempSync(join(options.out, "rlx-export-"));
try {
  const bundle = join(scratch, "export.mjs");
  buildSync({
    entryPoints: [join(root, "bench/exportChild.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: bundle,
    logLevel: "error",
  });
  const file = modelFile();
  const fileBytes = statSync(file).size;
  const rows: (Exported & { readonly copySeconds: number })[] = [];
  for (let i = 0; i < Number(options.repeats); i++) {
    const copy = join(scratch, "copy.gguf");
    const before = await copySeconds(file, copy);
    rmSync(copy);
    const exported = exportOnce(bundle, file, join(scratch, "model.mlpackage"));
    rows.push({ ...exported, copySeconds: before });
    rmSync(join(scratch, "model.mlpackage"), { recursive: true });
  }
  const result = {
    file,
    profile: options.profile,
    fileBytes,
    packageBytes: rows[0]?.packageBytes,
    sizeRatio: (rows[0]?.packageBytes ?? 0) / fileBytes,
    seconds: median(rows.map((r) => r.seconds)),
    copySeconds: median(rows.map((r) => r.copySeconds)),
    timeRatio: median(rows.map((r) => r.seconds / r.copySeconds)),
    peakMegabytes: Math.max(...rows.map((r) => r.peakMegabytes)),
    worstRms: rows[0]?.worstRms,
    runs: rows,
  };
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
