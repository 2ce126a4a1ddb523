/** The recipes on the CPU engine: each learns what it is given, and a seed gives the same run again. */
import { describe, expect, it } from "vitest";
import { loadAddon } from "../../node/native/addon.ts";
import { cpuDevice } from "../../runtime/devices/cpu.ts";
import { optimizerNamed } from "../optimisers/index.ts";
import { TrainingSession } from "../session.ts";
import { trainingOn } from "../trainingDevice.ts";
import { RECIPES } from "./index.ts";
import type { Prepared } from "./recipe.ts";
import { fieldValues } from "./recipe.ts";

const cpu = trainingOn(cpuDevice(loadAddon(), { threads: 2 }), "cpu");

async function prepared(id: string, batch: number, fields: Record<string, number> = {}): Promise<Prepared> {
  const recipe = RECIPES.find((each) => each.id === id)!;
  const request = { fields: fieldValues(recipe, fields), batch, seed: 3, share: 0.1 };
  return recipe.prepare({ ...request, pace: () => Promise.resolve() });
}

async function trained(
  made: Prepared,
  steps: number,
  lr: number,
): Promise<{ losses: number[]; session: TrainingSession }> {
  const session = new TrainingSession(made.forward, made.trainable, made.initial, {
    device: cpu,
    lr,
    optimizer: optimizerNamed("adamw"),
  })
    .withFusedOptimizer()
    .withGradientNorms();
  const losses: number[] = [];
  for (let step = 1; step <= steps; step++) losses.push((await session.step(made.batch(step))).loss);
  return { losses, session };
}

async function validated(made: Prepared, session: TrainingSession, output: string): Promise<number> {
  const { graph, batches } = made.validation!;
  const runner = await cpu.open(graph, "f32");
  const params = await session.params();
  const weights = Object.fromEntries(Object.entries(params).map(([name, { data }]) => [name, Float32Array.from(data)]));
  let sum = 0;
  for (const batch of batches) {
    const made = await runner.run({ ...weights, ...(batch as Record<string, Float32Array>) }, [output]);
    sum += new Float32Array(made[output]!.bytes.buffer)[0]!;
  }
  await runner.dispose();
  return sum / batches.length;
}

describe("recipes", () => {
  it("the digits are read after a few steps, by a small net", async () => {
    const made = await prepared("digits", 16, { channels: 3, images: 300 });
    const { losses, session } = await trained(made, 40, 0.02);
    expect(losses[0]).toBeGreaterThan(1.5);
    expect(await validated(made, session, "correct")).toBeGreaterThan(0.6);
    await session.dispose();
  });

  it("characters are guessed better than by their frequency, and gradients have lengths", async () => {
    const made = await prepared("characters", 8, { layers: 1, width: 32, heads: 2, context: 16 });
    const before = made.writing!.words;
    const { losses, session } = await trained(made, 80, 0.01);
    expect(losses[0]).toBeCloseTo(Math.log(before), 0);
    expect(await validated(made, session, "loss")).toBeLessThan(2.6);
    const { norms } = await session.step(made.batch(81));
    expect(norms).toHaveLength(made.trainable.length);
    for (const norm of norms!) expect(norm).toBeGreaterThan(0);
    await session.dispose();
  });

  it("has about a million parameters as the character transformer comes", async () => {
    const { parameters } = await prepared("characters", 16);
    expect(parameters).toBeGreaterThan(0.9e6);
    expect(parameters).toBeLessThan(1.1e6);
  });

  it("gives the same batches and weights for a seed, in any order of steps", async () => {
    const [a, b] = [await prepared("digits", 8, { images: 100 }), await prepared("digits", 8, { images: 100 })];
    expect(a.initial).toEqual(b.initial);
    const forwards = [1, 2, 30].map((step) => a.batch(step));
    expect([30, 1, 2].map((step) => b.batch(step))).toEqual([forwards[2], forwards[0], forwards[1]]);
  });
});
