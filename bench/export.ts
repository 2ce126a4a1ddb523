// Exports a 1B-class Q4_K_M file by the built `rlx compile`, against a fsynced copy of the same file in
// the same run. Prints seconds of the whole command, ratio, peak memory and package size as JSON.
//   npx tsx bench/export.ts [--file MODEL.gguf] [--profile gpu] [--repeats 3] [--out FOLDER]
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { saidPeakBytes, SAYS_PEAK } from "../main/testing/peakMemory.ts";
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

const CONTEXT = "4096";
/** At most, for a file of the size that is made here; time is against the copy. */
const GOALS = { sizeRatio: 1.25, timeRatio: 4, peakMegabytes: 400 };
/** The same package on every machine. */
const PLACE = ["--chip", "m2", "--os", "macos15", "--units", "all"];

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

/** The fields of `rlx compile --json` that are read here. */
interface Said {
  readonly bytes: number;
  readonly weights: readonly { readonly relativeRms: number }[];
}

/** The whole command, from the start of its process to its end. */
function exportOnce(file: string, target: string, home: string): Exported {
  const words = [
    "compile",
    file,
    "--output",
    target,
    "--json",
    "--profile",
    options.profile,
    "--context",
    CONTEXT,
    ...PLACE,
  ];
  const start = performance.now();
  const run = spawnSync(process.execPath, ["--import", SAYS_PEAK, join(root, "out/cli/rlx.js"), ...words], {
    encoding: "utf8",
    maxBuffer: 64 << 20,
    env: { ...process.env, RLX_HOME: home },
  });
  const seconds = (performance.now() - start) / 1000;
  if (run.status !== 0) throw new Error(run.stderr);
  const said = JSON.parse(run.stdout) as Said;
  return {
    seconds,
    peakMegabytes: saidPeakBytes(run.stderr) / 2 ** 20,
    packageBytes: said.bytes,
    worstRms: Math.max(...said.weights.map(({ relativeRms }) => relativeRms)),
  };
}

const scratch = mkdtempSync(join(options.out, "rlx-export-"));
try {
  const file = modelFile();
  const fileBytes = statSync(file).size;
  const rows: (Exported & { readonly copySeconds: number })[] = [];
  for (let i = 0; i < Number(options.repeats); i++) {
    const copy = join(scratch, "copy.gguf");
    const before = await copySeconds(file, copy);
    rmSync(copy);
    const exported = exportOnce(file, join(scratch, "model.mlpackage"), join(scratch, "home"));
    rows.push({ ...exported, copySeconds: before });
    rmSync(join(scratch, "model.mlpackage"), { recursive: true });
  }
  const timeRatio = median(rows.map((r) => r.seconds / r.copySeconds));
  const peakMegabytes = Math.max(...rows.map((r) => r.peakMegabytes));
  const sizeRatio = (rows[0]?.packageBytes ?? 0) / fileBytes;
  const result = {
    goals: GOALS,
    met: {
      sizeRatio: sizeRatio <= GOALS.sizeRatio,
      timeRatio: timeRatio <= GOALS.timeRatio,
      peakMegabytes: peakMegabytes <= GOALS.peakMegabytes,
    },
    file,
    profile: options.profile,
    fileBytes,
    packageBytes: rows[0]?.packageBytes,
    sizeRatio,
    seconds: median(rows.map((r) => r.seconds)),
    copySeconds: median(rows.map((r) => r.copySeconds)),
    timeRatio,
    peakMegabytes,
    worstRms: rows[0]?.worstRms,
    runs: rows,
  };
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
