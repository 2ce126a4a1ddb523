// Families of decoders are trained by the graph that runs them: before the first step the loss of a window is what a session with
// caches says of the same tokens, and steps of a LoRA lower it. Encoder-decoders are refused.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { finish } from "../../ir/steps.ts";
import { FAMILIES } from "../../models/families/index.ts";
import type { Family, FamilySample } from "../../models/family.ts";
import { template } from "../../models/template.ts";
import type { Model } from "../../node/library/index.ts";
import { openModel, trainingDevice } from "../../node/library/index.ts";
import { seededRandom } from "../../runtime/statistics.ts";
import { sampleHeader, writePlainToy, TOY_VOCABULARY } from "../../testing/toyFiles.ts";
import { adam } from "../optimisers/adam.ts";
import { TrainingSession } from "../session.ts";
import { loraTuning } from "./lora.ts";
import { batchOf } from "./tuning.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-tuning-families-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Case = readonly [name: string, of: { readonly family: Family; readonly sample: FamilySample }];

/** The first small sample of each architecture. */
const all = new Map<string, Case[1]>();
for (const family of FAMILIES.filter(({ kind }) => kind === "decoder"))
  for (const sample of family.samples.filter(({ keys }) => Number(keys["block_count"]) < 10))
    if (!all.has(sample.architecture)) all.set(sample.architecture, { family, sample });

/** Without those whose graphs have no op that another one's has not, but with the most common. */
async function cases(): Promise<readonly Case[]> {
  const taken: ReadonlySet<string>[] = [];
  const found: Case[] = [];
  for (const [name, of] of all) {
    if (name === "t5") continue;
    const { nodes } = finish(template(await sampleHeader(of.family, of.sample), { cacheType: "f32" }));
    const ops = new Set(nodes.map(({ op }) => op));
    const isNew = !taken.some((other) => [...ops].every((op) => other.has(op)));
    if (isNew) taken.push(ops);
    if (isNew || ["llama", "qwen3", "qwen3moe"].includes(name)) found.push([name, of]);
  }
  return found;
}

async function opened(name: string): Promise<Model> {
  const { family, sample } = all.get(name)!;
  const path = join(folder, `${name}.gguf`);
  await writePlainToy(path, family, sample);
  return openModel(path);
}

/** The mean of −log p(next token), by a session with caches. */
async function spoken(model: Model, tokens: readonly number[]): Promise<number> {
  const session = await model.openSession({ cacheType: "f32", context: tokens.length, threads: 1 });
  const count = tokens.length - 1;
  const logits = await session.decoder.logits(
    Int32Array.from(tokens.slice(0, count)),
    Array.from({ length: count }, (_, i) => i),
  );
  session.dispose();
  const width = logits.length / count;
  const each = Array.from({ length: count }, (_, i) => {
    const row = Float64Array.from(logits.subarray(i * width, (i + 1) * width));
    return Math.log(row.reduce((sum, x) => sum + Math.exp(x), 0)) - row[tokens[i + 1]!]!;
  });
  return each.reduce((a, b) => a + b) / count;
}

const trained = await cases();

describe("a LoRA of", () => {
  test.each(trained)("%s", async (name) => {
    const model = await opened(name);
    const batch = ["qwen3", "qwen3moe", "deepseek2", "falcon-h1"].includes(name) ? 2 : 1;
    const random = seededRandom(5);
    const windows = Array.from({ length: batch }, () =>
      Array.from({ length: 9 }, () => Math.floor(random() * TOY_VOCABULARY)),
    );
    const tuning = loraTuning(model.file, { context: 8, batch, rank: 2, seed: 1 });
    const device = trainingDevice("cpu", { model, threads: 1 });
    const config = { device, optimizer: adam(), lr: 0.03 };
    const session = new TrainingSession(tuning.graph, tuning.trainable, tuning.initial, config);
    const given = batchOf(
      tuning,
      windows.map((tokens) => ({ tokens })),
    );
    const losses: number[] = [];
    for (let step = 0; step < 5; step++) losses.push((await session.step(given)).loss);
    let wanted = 0;
    for (const tokens of windows) wanted += (await spoken(model, tokens)) / batch;
    expect(losses[0], "before training").toBeCloseTo(wanted, 2);
    expect(losses.every(Number.isFinite)).toBe(true);
    expect(losses.at(-1)).toBeLessThan(0.97 * losses[0]!);
    await session.dispose();
    await model.close();
  });

  test("an encoder-decoder is refused", async () => {
    const model = await opened("t5");
    expect(() => loraTuning(model.file, { context: 8, batch: 1 })).toThrow(/encoder-decoder/);
    await model.close();
  });
});
