/** A run whose net ends in few bits: its accuracy in floats, calibrated, and trained on; what is refused. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { StreamItemOf } from "../../contract/contract.ts";
import type { TrainQuantized, TrainSpecInput } from "../../contract/views/train.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await engineHarness();
});
afterAll(() => harness.done());

type Item = StreamItemOf<"train.start">;
const quantizedIn = (items: readonly Item[]): readonly TrainQuantized[] =>
  items.flatMap((item) => (item.kind === "quantized" ? [item.quantized] : []));

const DIGITS: TrainSpecInput = {
  ...{ recipe: "digits", steps: 120, batch: 16, fields: { channels: 4, images: 600 }, norms: { every: 0 } },
  ...{ validation: { every: 60, share: 0.2 }, quantize: { weights: 2, activations: 4, after: 70, batches: 4 } },
};

it("loses right answers where digits are read in few bits, and gets most of them back by training on", async () => {
  const path = join(harness.folder, "digits.safetensors");
  const items = await harness.all("train.start", { ...DIGITS, output: { path } });
  const [calibrated, trained, ...more] = quantizedIn(items);
  expect(more).toEqual([]);
  expect(calibrated).toMatchObject({ weights: 2, activations: 4, step: 70, trained: null });
  expect(trained).toMatchObject({ floats: calibrated!.floats, calibrated: calibrated!.calibrated });
  const [floats, after, learnt] = [trained!.floats, trained!.calibrated, trained!.trained!].map(
    ({ accuracy }) => accuracy!,
  );
  const told = JSON.stringify(trained);
  expect(floats, told).toBeGreaterThan(0.8);
  expect(after, told).toBeLessThan(floats! - 0.05);
  expect(learnt, told).toBeGreaterThan(after! + 0.05);
  // Validation behind the calibration is that of the net in few bits.
  const last = items.findLast((item) => item.kind === "validation");
  expect(last).toMatchObject({ step: 120, loss: trained!.trained!.loss });
  const header = (await readFile(path)).toString("latin1", 8, 1000);
  expect(header).toContain('"weight_bits":"2","activation_bits":"4","activation_ranges":"[');
  const done = items.at(-1)!;
  expect(done).toMatchObject({ kind: "done", steps: 120 });
  const { quantized } = await harness.client.call("train.run", { run: done.kind === "done" ? done.run : "" });
  expect(quantized).toEqual(trained);
});

it("only calibrates where nothing else is asked, and what it writes is written in few bits", async () => {
  const items = await harness.all("train.start", {
    ...{ recipe: "characters", steps: 3, batch: 2, fields: { layers: 1, width: 16, heads: 2, context: 16 } },
    ...{ validation: { every: 3 }, sample: { every: 2, tokens: 4 }, quantize: { weights: 8 } },
  });
  const [one, ...more] = quantizedIn(items);
  expect(more).toEqual([]);
  expect(one).toMatchObject({ weights: 8, activations: 8, step: 3, trained: null });
  expect(one!.calibrated.accuracy).toBeNull();
  expect(Math.abs(one!.calibrated.loss - one!.floats.loss)).toBeLessThan(0.02);
  expect(one!.calibrated.loss).not.toBe(one!.floats.loss);
  const again = await harness.all("train.start", {
    ...{ recipe: "characters", steps: 3, batch: 2, fields: { layers: 1, width: 16, heads: 2, context: 16 } },
    ...{ validation: { every: 3 }, sample: { every: 3, tokens: 4 }, quantize: { weights: 2, after: 1 } },
  });
  expect(again.some((item) => item.kind === "sample" && item.text.length > 0)).toBe(true);
});

it("refuses what has no grid, no held data or no place for its ranges", async () => {
  const refused = async (spec: TrainSpecInput): Promise<string> =>
    harness.all("train.start", spec).then(
      () => "taken",
      (error: unknown) => (error as Error).message,
    );
  const quantize = { weights: 4 };
  const model = { kind: "path", path: "m.gguf" } as const;
  expect(await refused({ recipe: "lora", model, quantize })).toContain("got it over a model's file");
  expect(await refused({ ...DIGITS, resume: "a.safetensors" })).toContain("got it with a checkpoint");
  expect(await refused({ ...DIGITS, validation: { every: 0 } })).toContain("got no validation");
  expect(await refused({ ...DIGITS, steps: 60 })).toContain("after: got 70, expected at most the 60 steps");
  expect(await refused({ recipe: "linear", validation: { every: 1 }, quantize })).toContain(
    "no data that is held back",
  );
});
