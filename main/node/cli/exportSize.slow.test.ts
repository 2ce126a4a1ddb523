/**
 * What the export of a 1B-class Q4_K_M file takes, on the disk and in memory: real shapes, and a hole where the weights would be,
 * because neither depends on them. How long it takes is for `bench/export.ts`.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { encodeHeader } from "../../formats/gguf/write.ts";
import { headerOf, LLAMA_1B } from "../../models/headerOnly.ts";
import { saidPeakBytes, SAYS_PEAK } from "../../testing/peakMemory.ts";
import { CLI_BUNDLE, requireCommandLine } from "../../testing/rlxProcess.ts";

const Said = z.object({
  bytes: z.number(),
  functions: z.array(z.string()),
  weights: z.array(z.object({ name: z.string(), bytes: z.number() })),
});

/** One factor for each pair of a head's elements, none of which may be nought. */
const ROPE_FACTORS = "rope_freqs.weight";

function writeSparse(path: string): number {
  const contents = headerOf(LLAMA_1B);
  const { bytes, total } = encodeHeader({
    ...contents,
    tensors: contents.tensors.filter(({ name }) => name !== ROPE_FACTORS),
  });
  writeFileSync(path, bytes);
  truncateSync(path, total);
  return total;
}

it("is at most 1.25 times the file in the gpu profile, with one embedding for both functions, in at most 400 MB", () => {
  requireCommandLine();
  const folder = mkdtempSync(join(tmpdir(), "rlx-export-size-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "sparse-1b.gguf");
  const fileBytes = writeSparse(file);
  const words = [
    "compile",
    file,
    "-o",
    join(folder, "sparse.mlpackage"),
    "--profile",
    "gpu",
    "--units",
    "all",
    "--json",
  ];
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", SAYS_PEAK, CLI_BUNDLE, ...words], {
    encoding: "utf8",
    maxBuffer: 64 << 20,
    env: { ...process.env, RLX_HOME: join(folder, "home") },
  });
  expect(status, stderr).toBe(0);
  const said = Said.parse(JSON.parse(stdout));
  expect(said.functions).toHaveLength(2);
  expect(said.bytes / fileBytes).toBeLessThanOrEqual(1.25);
  expect(saidPeakBytes(stderr)).toBeLessThanOrEqual(400e6);
  // Both functions, and both ends of the model, read the same bytes.
  expect(said.weights.filter(({ name }) => name === "token_embd.weight")).toHaveLength(1);
  expect(said.weights.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(said.bytes);
});
