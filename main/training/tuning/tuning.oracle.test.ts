// A LoRA of the sample model, in packed weights: llama.cpp loads the adapter that it became and chooses the same tokens, and so it
// does with the merged file.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  loraTuning,
  openModel,
  sampleModel,
  saveAdapter,
  saveTuned,
  trainingDevice,
} from "../../node/library/index.ts";
import { llamaForget, llamaLogits, llamaMissing } from "../../testing/llama.ts";
import { adamw } from "../optimisers/adam.ts";
import { TrainingSession } from "../session.ts";
import { batchOf } from "./tuning.ts";

const missing = llamaMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-tuning-llama-"));
afterAll(async () => {
  if (missing === undefined) await llamaForget();
  rmSync(folder, { recursive: true, force: true });
});

const TEXT =
  "Rivers carry the rain of the hills to the sea. The sea gives it back to the clouds, and the clouds to the hills. ";
const CONTEXT = 32;

/** The first choice of a row, and how far the second is behind. */
function best(row: ArrayLike<number>): { readonly token: number; readonly lead: number } {
  const order = Array.from({ length: row.length }, (_, i) => i).toSorted((a, b) => row[b]! - row[a]!);
  return { token: order[0]!, lead: row[order[0]!]! - row[order[1]!]! };
}

describe.skipIf(missing !== undefined)(`llama.cpp with what a training made ${missing ?? ""}`, () => {
  it("chooses the tokens that we choose", async () => {
    const model = await openModel(sampleModel());
    const ids = await model.encode(TEXT);
    const tuning = loraTuning(model.file, { context: CONTEXT, batch: 1, rank: 4 });
    const device = trainingDevice("cpu", { model });
    const config = { device, optimizer: adamw(), lr: 0.01 };
    const session = new TrainingSession(tuning.graph, tuning.trainable, tuning.initial, config).withFusedOptimizer();
    const given = batchOf(tuning, [{ tokens: ids.slice(0, CONTEXT + 1) }]);
    const losses: number[] = [];
    for (let step = 0; step < 12; step++) losses.push((await session.step(given)).loss);
    expect(losses.at(-1)).toBeLessThan(0.6 * losses[0]!);
    const params = await session.params();
    await session.dispose();
    const adapter = await saveAdapter(model, tuning, params, join(folder, "rivers.gguf"));
    const merged = await saveTuned(model, tuning, params, join(folder, "rivers-merged.gguf"), { type: "f16" });
    await model.close();

    const tokens = ids.slice(0, CONTEXT);
    const opened = await openModel(sampleModel(), { adapters: [{ path: adapter }] });
    const ours = await opened.openSession({ cacheType: "f32", context: CONTEXT, threads: 1 });
    const rows = Array.from(tokens.keys());
    const logits = await ours.decoder.logits(tokens, rows);
    ours.dispose();
    await opened.close();
    const plain = await llamaLogits(sampleModel(), [...tokens]);
    const withAdapter = await llamaLogits(sampleModel(), [...tokens], { adapters: [[adapter, 1]] });
    const whole = await llamaLogits(merged, [...tokens]);
    const width = logits.length / tokens.length;
    let changed = 0;
    for (const row of rows) {
      const mine = best(logits.subarray(row * width, (row + 1) * width));
      expect(best(withAdapter.row(row)).token, `row ${row} with the adapter`).toBe(mine.token);
      // Merged weights are rounded once more: a choice by a hair may turn.
      if (mine.lead > 0.1) expect(best(whole.row(row)).token, `row ${row} merged`).toBe(mine.token);
      if (best(plain.row(row)).token !== mine.token) changed++;
    }
    expect(changed).toBeGreaterThan(CONTEXT / 4);
  });
});
