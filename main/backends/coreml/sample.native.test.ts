// The sample model as a package, run by the simulator, against the CPU engine on the same file: the same greedy tokens with
// exact weights, and a distribution within 1e-3 with fp16.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { requireArchitecture } from "../../models/architecture.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import { INPUTS, LOGITS } from "../../models/blocks.ts";
import { loadAddon } from "../../node/native/addon.ts";
import { openFileSource } from "../../node/files/fileByteSource.ts";
import { packageReader, packageWriter } from "../../node/files/packageDirectory.ts";
import { openDecoder } from "../../runtime/devices/cpu.ts";
import { decoderExport, weightsOf } from "../../testing/decoderExport.ts";
import { bindingsOf, exportPackage } from "./export.ts";
import { openPackage } from "./package.ts";
import { PackageDecoder } from "./package/packageDecoder.ts";
import { Simulator } from "./simulator/simulator.ts";
import type { WeightProfile } from "./weights/forms.ts";

const path = fileURLToPath(new URL("../../../assets/models/rlx-sample.gguf", import.meta.url));
const missing = existsSync(path) ? undefined : "(the sample model is not here)";
const folder = mkdtempSync(join(tmpdir(), "rlx-sample-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const CONTEXT = 128;
const PROMPT = 12;
const STEPS = 32;

async function simulated(
  file: GgufFile,
  profile: WeightProfile,
): Promise<{ readonly decoder: PackageDecoder; readonly close: () => Promise<void> }> {
  const directory = join(folder, `${profile}.mlpackage`);
  await exportPackage(decoderExport(file, { profile, context: CONTEXT, cacheType: "f32" }), {
    directory: await packageWriter(directory),
    weights: weightsOf(file),
  });
  const reader = packageReader(directory);
  const opened = await openPackage(reader);
  const names = { tokens: INPUTS.tokens, past: INPUTS.past, rows: INPUTS.rows, logits: LOGITS };
  return {
    decoder: new PackageDecoder(new Simulator(opened), bindingsOf(opened.userDefined), names),
    close: () => reader.close(),
  };
}

const best = (row: Float32Array): number => row.reduce((at, x, i) => (x > (row[at] ?? -Infinity) ? i : at), 0);

function logProbabilities(row: Float32Array): Float64Array {
  const largest = row.reduce((a, b) => Math.max(a, b), -Infinity);
  const total = largest + Math.log(row.reduce((sum, x) => sum + Math.exp(x - largest), 0));
  return Float64Array.from(row, (x) => x - total);
}

const divergence = (exact: Float64Array, other: Float64Array): number =>
  exact.reduce((sum, p, i) => sum + Math.exp(p) * (p - (other[i] ?? NaN)), 0);

describe.skipIf(missing)(`sample model ${missing ?? ""}`, () => {
  it(
    "gives the CPU engine's tokens with exact weights, and its distribution with fp16",
    { timeout: 300_000 },
    async () => {
      const file = await openGguf(await openFileSource(path));
      const { vocabulary } = requireArchitecture(file);
      const model = openDecoder(loadAddon(), file, [path], { threads: 2, cacheType: "f32" });
      const cpu = model.open({ context: CONTEXT });
      const prompt = Array.from({ length: PROMPT }, (_, i) => (i * 131 + 17) % vocabulary);
      const rows: Float32Array[] = [await cpu.logits(prompt, [PROMPT - 1])];
      const tokens: number[] = [];
      for (let i = 0; i < STEPS; i++) {
        const token = best(rows[i] ?? new Float32Array(0));
        tokens.push(token);
        rows.push(await cpu.logits([token], [0]));
      }
      for (const profile of ["exact", "gpu", "ane"] as const) {
        const { decoder, close } = await simulated(file, profile);
        const made = [await decoder.step(Int32Array.from(prompt), 0, [PROMPT - 1])];
        for (const [i, token] of tokens.entries()) made.push(await decoder.step(Int32Array.of(token), PROMPT + i, [0]));
        await close();
        if (profile === "exact") expect(made.slice(0, STEPS).map(best)).toEqual(tokens);
        const kl = rows.map((row, i) => divergence(logProbabilities(row), logProbabilities(made[i] ?? row)));
        expect(kl.reduce((a, b) => a + b, 0) / kl.length, profile).toBeLessThan(1e-3);
      }
      cpu.dispose();
      model.dispose();
      await file.close();
    },
  );
});
