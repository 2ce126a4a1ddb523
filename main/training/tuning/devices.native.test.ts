// The loss of a LoRA over 50 steps, of a small model of the sample's shape in Q8_0: simulated Core ML in halves and MLX follow the CPU.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PrecisionPolicy } from "../../ir/precision.ts";
import type { Model } from "../../node/library/index.ts";
import { loraTuning, openModel, quantizeModel, simulatedTraining, trainingDevice } from "../../node/library/index.ts";
import { findMlxEngine } from "../../node/native/mlxAddon.ts";
import { reasonNotFound } from "../../testing/skipping.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { adam } from "../optimisers/adam.ts";
import { TrainingSession } from "../session.ts";
import type { TrainingDevice } from "../trainingDevice.ts";
import { batchOf } from "./tuning.ts";

const STEPS = 50;
const CONTEXT = 8;
const folder = mkdtempSync(join(tmpdir(), "rlx-tuning-devices-"));
const noMlx = reasonNotFound(findMlxEngine());
let model: Model;
let cpu: readonly number[];

beforeAll(async () => {
  await writeTinyGguf(join(folder, "plain.gguf"), { layers: 1 });
  const plain = await openModel(join(folder, "plain.gguf"));
  await quantizeModel(plain, join(folder, "packed.gguf"), { to: "q8_0" });
  await plain.close();
  model = await openModel(join(folder, "packed.gguf"));
  cpu = await curve(trainingDevice("cpu", { model, threads: 1 }));
});
afterAll(async () => {
  await model.close();
  rmSync(folder, { recursive: true, force: true });
});

async function curve(device: TrainingDevice, precision: PrecisionPolicy = "f32"): Promise<readonly number[]> {
  const tuning = loraTuning(model.file, { context: CONTEXT, batch: 1, rank: 2 });
  const config = { device, optimizer: adam(), lr: 0.01 };
  const session = new TrainingSession(tuning.graph, tuning.trainable, tuning.initial, config);
  session.withPrecisionPolicy(precision).withFusedOptimizer();
  const tokens = (await model.encode("the cat sat on the mat")).slice(0, CONTEXT + 1);
  const losses: number[] = [];
  for (let step = 0; step < STEPS; step++) losses.push((await session.step(batchOf(tuning, [{ tokens }]))).loss);
  await session.dispose();
  return losses;
}

/** Of the losses, in nats: logits of about 5 have steps of 0.004 in halves. */
const worst = (losses: readonly number[]): number =>
  Math.max(...losses.map((loss, i) => Math.abs(loss - (cpu[i] ?? NaN))));

describe("a LoRA over 50 steps", () => {
  it("falls on the CPU, and in halves too", async () => {
    expect(cpu.at(-1)).toBeLessThan(0.3 * cpu[0]!);
    expect(worst(await curve(trainingDevice("cpu", { model, threads: 1 }), "mixed"))).toBeLessThan(0.01);
  });

  it("is the same curve on simulated Core ML in halves", async () => {
    expect(worst(await curve(simulatedTraining({ model }), "mixed"))).toBeLessThan(0.01);
  });

  it.skipIf(noMlx !== undefined)(`is the same curve on MLX ${noMlx ?? ""}`, async () => {
    expect(worst(await curve(trainingDevice("mlx", { model })))).toBeLessThan(2e-3);
  });
});
