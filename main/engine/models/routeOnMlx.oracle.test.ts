// The table of weight forms against what MLX reports of the weights that it really holds: the form, the bytes, and the error.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { mlxFormText, mlxHeldBytes, mlxWeightForm } from "../../backends/mlx/weightForms.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import { compile } from "../../compiler/compile.ts";
import { openMlxDecoder } from "../../runtime/devices/mlx.ts";
import type { MlxEngine } from "../../backends/mlx/engine.ts";
import { writeRandomModel } from "../../testing/randomModel.ts";
import { openFileSource } from "../../node/files/fileByteSource.ts";
import { findMlxEngine } from "../../node/native/mlxAddon.ts";
import type { Harness } from "../engineHarness.ts";
import { engineHarness } from "../engineHarness.ts";
import { reasonNotFound } from "../../testing/skipping.ts";

const found = findMlxEngine();
const missing = reasonNotFound(found);
const folder = mkdtempSync(join(tmpdir(), "rlx-mlx-route-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function made(type: string): Promise<string> {
  const path = join(folder, `${type}.gguf`);
  await writeRandomModel("--preset", "tiny-qwen3", "--type", type, "--out", path);
  return path;
}

describe.skipIf(missing !== undefined)(`weights on MLX ${missing ?? ""}`, () => {
  test.each(["f32", "f16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k", "q6_k", "q4_k_m"])(
    "%s: the view says what MLX does",
    async (type) => {
      const path = await made(type);
      const file = await openGguf(await openFileSource(path));
      const decoder = openMlxDecoder(found as MlxEngine, file, [path], {
        mode: "lazy",
        cacheType: "f32",
        prepare: (graph) => compile(graph, { backend: "mlx" }).graph,
      });
      const held = await decoder.compiled.weights();
      decoder.dispose();
      for (const weight of held) {
        const tensor = file.requireTensor(weight.name);
        const form = mlxWeightForm(tensor.type.element!, tensor.shape.length);
        expect(mlxFormText(form), weight.name).toBe(weight.form);
        expect(mlxHeldBytes(form, tensor.elements, tensor.byteLength), weight.name).toBe(weight.bytes);
        if (form.kind !== "f16") expect(weight.largestError, weight.name).toBe(0);
      }
      await file.close();

      const harness: Harness = await engineHarness();
      const { model } = await harness.client.call("model.open", { source: { kind: "path", path } });
      const view = await harness.client.call("route.mlx", { model, phase: "decode", context: 64 });
      await harness.done();
      expect(view.counts.unsupported).toBe(0);
      for (const row of view.weights) {
        const own = held.filter((weight) => weight.type === row.type && weight.form === row.form);
        expect(own.length, row.type).toBeGreaterThan(0);
        if (row.kind !== "f16") expect(row.error!.value).toBe(0);
        else {
          // The view reads a few rows: their error is near that of all rows.
          const mean = own.reduce((sum, { relativeError }) => sum + relativeError, 0) / own.length;
          expect(row.error!.value / mean).toBeGreaterThan(0.8);
          expect(row.error!.value / mean).toBeLessThan(1.25);
        }
      }
    },
    30_000,
  );
});
