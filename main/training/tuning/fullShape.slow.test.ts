// A LoRA of the sample itself, in its full shape: over 50 steps simulated Core ML in halves stays by the CPU's loss.
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { PrecisionPolicy } from "../../ir/precision.ts";
import type { Model } from "../../node/library/index.ts";
import { loraTuning, openModel, simulatedTraining, trainingDevice } from "../../node/library/index.ts";
import { adam } from "../optimisers/adam.ts";
import { TrainingSession } from "../session.ts";
import type { TrainingDevice } from "../trainingDevice.ts";
import { batchOf } from "./tuning.ts";

const SAMPLE = fileURLToPath(new URL("../../../assets/models/rlx-sample.gguf", import.meta.url));
const STEPS = 50;
const CONTEXT = 8;
/** In nats: logits of about 10 have steps of 0.008 in halves. */
const HALVES = 0.01;

let model: Model;
beforeAll(async () => {
  model = await openModel(SAMPLE);
});
afterAll(() => model.close());

async function curve(device: TrainingDevice, precision: PrecisionPolicy): Promise<readonly number[]> {
  const tuning = loraTuning(model.file, { context: CONTEXT, batch: 1, rank: 4 });
  const config = { device, optimizer: adam(), lr: 0.003 };
  const session = new TrainingSession(tuning.graph, tuning.trainable, tuning.initial, config);
  session.withPrecisionPolicy(precision).withFusedOptimizer();
  const tokens = (await model.encode("A mill stood at the bend of a river, and its wheel was still.")).slice(
    0,
    CONTEXT + 1,
  );
  const losses: number[] = [];
  for (let step = 0; step < STEPS; step++) losses.push((await session.step(batchOf(tuning, [{ tokens }]))).loss);
  await session.dispose();
  return losses;
}

it("learns on simulated Core ML as on the CPU", async () => {
  const cpu = await curve(trainingDevice("cpu", { model, threads: 1 }), "f32");
  expect(cpu.at(-1)).toBeLessThan(0.5 * cpu[0]!);
  const simulated = await curve(simulatedTraining({ model }), "mixed");
  const apart = simulated.map((loss, i) => Math.abs(loss - cpu[i]!));
  expect(Math.max(...apart)).toBeLessThan(HALVES);
});
