/** What an export says of its weights: with the native engine of every element, without one of some rows. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { BlobPlan, MemorySink } from "../../backends/coreml/blob.ts";
import type { ExportReport } from "../../backends/coreml/export.ts";
import type { PlanTarget } from "../../backends/coreml/plan/target.ts";
import { measureRows } from "../../backends/coreml/weights/measure.ts";
import type { WeightProfile } from "../../backends/coreml/weights/forms.ts";
import { WEIGHT_PROFILES } from "../../backends/coreml/weights/forms.ts";
import { WeightPlan } from "../../backends/coreml/weights/plan.ts";
import type { WeightBytes } from "../../backends/coreml/weights/write.ts";
import { writeWeights } from "../../backends/coreml/weights/write.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import { loadAddon } from "../../node/native/addon.ts";
import { exportModel } from "../models/exporting.ts";
import { nativeDequantize, nativeMeasure } from "../models/packageRequest.ts";
import { weightNote, weightsSentence } from "./exportHandlers.ts";
import { modelStoreIn } from "../../testing/modelStore.ts";
import { packageWriter } from "../../node/files/packageDirectory.ts";

const sample = fileURLToPath(new URL("../../../assets/models/rlx-sample.gguf", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "rlx-exporting-"));
const engine = loadAddon();
const { store, close } = modelStoreIn(folder);
const { signal } = new AbortController();
afterAll(async () => {
  await close();
  rmSync(folder, { recursive: true, force: true });
});

describe("the export of the sample", () => {
  it("measures every element with an engine, and some rows without", { timeout: 120_000 }, async () => {
    const model = await store.open({ kind: "path", path: sample }, signal);
    const exported = (profile: WeightProfile, by: typeof engine | undefined): Promise<ExportReport> => {
      const target: PlanTarget = { chip: "m2", os: "macos15", units: "all", profile, context: 64, phase: "decode" };
      return exportModel(model, target, {
        directory: () => packageWriter(join(folder, `${profile}-${String(by !== undefined)}.mlpackage`)),
        engine: by,
        signal,
      });
    };
    for (const profile of WEIGHT_PROFILES) {
      const { weights } = await exported(profile, engine);
      expect(weights.length).toBeGreaterThan(40);
      for (const { name, rows, rowsMeasured, notFinite, overflowed } of weights)
        expect([rowsMeasured, notFinite, overflowed], `${name} ${profile}`).toEqual([rows, 0, 0]);
      expect(weightsSentence(weights)).toMatch(/measured on all elements\.$/);
      const sampled = (await exported(profile, undefined)).weights;
      for (const [i, { name, rows, rowsMeasured, rmsError }] of sampled.entries()) {
        expect(rowsMeasured, name).toBe(Math.min(16, rows));
        const whole = weights[i]?.rmsError ?? NaN;
        // Sixteen rows are a fair sample of these.
        expect(Math.abs(rmsError - whole), `${name} ${profile}`).toBeLessThanOrEqual(0.3 * whole + 1e-9);
      }
      expect(weightsSentence(sampled)).toMatch(
        /measured on 16 rows of each at most, because no native engine was built\.$/,
      );
    }
  });
});

describe("weights written with a measure", () => {
  const COLUMNS = 4096;
  const ROWS = 300;
  const values = Float32Array.from({ length: ROWS * COLUMNS }, (_, i) => Math.sin(i * 0.7));
  const bytes = new Uint8Array(values.buffer);
  const read: WeightBytes["read"] = (_, offset, length) => Promise.resolve(bytes.slice(offset, offset + length));
  const written = (by: Omit<WeightBytes, "read">): ReturnType<typeof writeWeights> => {
    const plan = new WeightPlan("ane", new BlobPlan());
    plan.weight({ name: "w", type: "f32", shape: [ROWS, COLUMNS] });
    return writeWeights(plan, { read, ...by }, new MemorySink());
  };
  const natively = { dequantize: nativeDequantize(engine), measure: nativeMeasure(engine) };

  it("say of all jobs what the definition says, also where a power of two is folded out", async () => {
    const defined: Omit<WeightBytes, "read"> = {
      dequantize,
      measure: (run) => Promise.resolve(measureRows(run, dequantize)),
    };
    for (const largest of [0.5, 1e6]) {
      values[77] = largest;
      const [[got], [want]] = [await written(natively), await written(defined)];
      expect(got).toMatchObject({ rows: ROWS, rowsMeasured: ROWS, fold: want?.fold, overflowed: 0 });
      expect(want?.fold === 0).toBe(largest < 1);
      expect(Math.abs((got?.rmsError ?? NaN) / (want?.rmsError ?? NaN) - 1)).toBeLessThan(1e-9);
    }
  });

  it("count an infinity, and keep the rest of the tensor where it was", async () => {
    values[77] = Infinity;
    const [report] = await written(natively);
    expect(report).toMatchObject({ notFinite: 1, overflowed: 0, fold: 0 });
    expect(report?.rmsError).toBeLessThan(1e-3);
    expect(report && weightNote(report)).toBe("1 element is not finite in the file");
    values[77] = 0.5;
  });

  it("are given up when the measure fails, and only when nothing reads their buffers any more", async () => {
    let [running, calls] = [0, 0];
    const failing = {
      ...natively,
      measure: async (): Promise<never> => {
        running += 1;
        calls += 1;
        await new Promise((resolve) => setTimeout(resolve, 20));
        running -= 1;
        throw new Error("measure");
      },
    };
    await expect(written(failing)).rejects.toThrow("measure");
    expect([running, calls]).toEqual([0, 2]);
  });
});
