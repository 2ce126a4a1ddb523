// A small model in Q8_0 is trained, saved and opened again: what the files say is what the training's graph said at its end.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { numbersIn } from "../../ir/hostBytes.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { FAMILIES } from "../../models/families/index.ts";
import type { Model } from "../../node/library/index.ts";
import {
  fullTuning,
  loraTuning,
  mergeAdapters,
  openModel,
  quantizeModel,
  saveAdapter,
  saveTuned,
  trainingDevice,
} from "../../node/library/index.ts";
import { seededRandom } from "../../runtime/statistics.ts";
import { writePlainToy } from "../../testing/toyFiles.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { adam } from "../optimisers/adam.ts";
import { TrainingSession } from "../session.ts";
import type { LoraTuning } from "./lora.ts";
import type { TrainedNumbers } from "./result.ts";
import { batchOf } from "./tuning.ts";
import type { Tuning } from "./tuning.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-tuning-"));
const at = (name: string): string => join(folder, name);
const TEXT = "the cat sat on the mat, the dog sat on the log. ";
const CONTEXT = 24;
let model: Model;
let tokens: Int32Array;

beforeAll(async () => {
  await writeTinyGguf(at("plain.gguf"));
  const plain = await openModel(at("plain.gguf"));
  await quantizeModel(plain, at("packed.gguf"), { to: "q8_0" });
  await plain.close();
  model = await openModel(at("packed.gguf"));
  tokens = (await model.encode(TEXT.repeat(3))).slice(0, CONTEXT + 1);
});
afterAll(async () => {
  await model.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Learned {
  readonly losses: readonly number[];
  readonly params: Readonly<Record<string, HostTensor>>;
  /** Of the last weights: [context, vocabulary] */
  readonly logits: ArrayLike<number>;
}

async function learned(tuning: Tuning, steps = 12, lr = 0.02): Promise<Learned> {
  const device = trainingDevice("cpu", { model, threads: 1 });
  const config = { device, optimizer: adam(), lr };
  const session = new TrainingSession(tuning.graph, tuning.trainable, tuning.initial, config).withFusedOptimizer();
  const losses: number[] = [];
  for (let step = 0; step < steps; step++) losses.push((await session.step(batchOf(tuning, [{ tokens }]))).loss);
  const params = await session.params();
  await session.dispose();
  const speaking = await device.open(tuning.logits, "f32");
  const weights = Object.fromEntries(Object.entries(params).map(([name, { data }]) => [name, Float32Array.from(data)]));
  const { logits } = await speaking.run({ ...weights, tokens: tokens.slice(0, CONTEXT) }, ["logits"]);
  await speaking.dispose();
  return { losses, params, logits: numbersIn("f32", logits!.bytes) };
}

/** Logits of the same tokens by a session of a file. */
async function said(path: string, adapters: readonly string[] = []): Promise<Float32Array> {
  const opened = await openModel(path, { adapters: adapters.map((adapter) => ({ path: adapter })) });
  const session = await opened.openSession({ cacheType: "f32", context: CONTEXT, threads: 1 });
  const rows = Array.from({ length: CONTEXT }, (_, i) => i);
  const logits = await session.decoder.logits(tokens.slice(0, CONTEXT), rows);
  session.dispose();
  await opened.close();
  return logits;
}

function farthest(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs((a[i] ?? NaN) - (b[i] ?? NaN)));
  return most;
}

/** How many of the rows have the same first choice. */
function agreeing(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const width = a.length / CONTEXT;
  const best = (all: ArrayLike<number>, row: number): number => {
    let found = 0;
    for (let i = 1; i < width; i++) if (all[row * width + i]! > all[row * width + found]!) found = i;
    return found;
  };
  return Array.from({ length: CONTEXT }, (_, row) => best(a, row) === best(b, row)).filter(Boolean).length;
}

/** Numbers that no training made. */
function drawn(tuning: Tuning): TrainedNumbers {
  const random = seededRandom(9);
  return Object.fromEntries(
    Object.entries(tuning.initial).map(([name, { length }]) => [
      name,
      { data: Float64Array.from({ length }, () => Math.fround(random() - 0.5)) },
    ]),
  );
}

describe("a LoRA over packed weights", () => {
  let tuning: LoraTuning;
  let made: Learned;
  beforeAll(async () => {
    tuning = loraTuning(model.file, { context: CONTEXT, batch: 1, rank: 4, seed: 3 });
    made = await learned(tuning);
    await saveAdapter(model, tuning, made.params, at("adapter.gguf"));
  });

  it("keeps the weights packed and trains A and B beside attention and feed-forward", () => {
    const packed = tuning.graph.nodes.filter(({ op, outputs }) => op === "param" && outputs[0]?.dtype === "q8_0");
    expect(packed).toHaveLength(15);
    expect(tuning.tensors).toHaveLength(14);
    expect(tuning.tensors.slice(0, 7)).toEqual(
      ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"].map(
        (one) => `blk.0.${one}.weight`,
      ),
    );
    expect(made.losses.at(-1)).toBeLessThan(0.7 * made.losses[0]!);
  });

  it("is saved as an adapter that gives the training's logits", async () => {
    expect(farthest(made.logits, await said(at("packed.gguf")))).toBeGreaterThan(1);
    expect(farthest(made.logits, await said(at("packed.gguf"), [at("adapter.gguf")]))).toBeLessThan(0.02);
    await saveAdapter(model, tuning, made.params, at("half.gguf"), { type: "f16", name: "Half" });
    expect(farthest(made.logits, await said(at("packed.gguf"), [at("half.gguf")]))).toBeLessThan(0.1);
    const file = await openModel(at("half.gguf"));
    expect(file.file.tensor("blk.0.attn_k.weight.lora_a")?.dims).toEqual([64, 4]);
    expect(file.file.tensor("blk.0.attn_k.weight.lora_b")?.dims).toEqual([4, 32]);
    expect(file.file.metadata.optionalString("general.name")).toBe("Half");
    await file.close();
  });

  it.each([
    ["f32", 0.02, CONTEXT],
    ["f16", 0.1, CONTEXT - 1],
    ["bf16", 0.6, CONTEXT - 2],
    ["q8_0", 0.6, CONTEXT - 2],
  ] as const)("is merged into weights of %s, from the session and from the file", async (type, gap, same) => {
    const direct = await saveTuned(model, tuning, made.params, at(`direct-${type}.gguf`), { type });
    const opened = await openModel(at("packed.gguf"), { adapters: [{ path: at("adapter.gguf") }] });
    const merged = await mergeAdapters(opened, at(`merged-${type}.gguf`), { type });
    await opened.close();
    const logits = await said(direct);
    expect(farthest(made.logits, logits)).toBeLessThan(gap);
    expect(agreeing(made.logits, logits)).toBeGreaterThanOrEqual(same);
    expect(farthest(logits, await said(merged))).toBe(0);
    const result = await openModel(merged);
    expect(result.file.tensor("blk.1.ffn_down.weight")?.type.name).toBe(type);
    const kept = model.file.metadata.entries.map(({ key }) => key).filter((key) => key !== "general.file_type");
    const keys = result.file.metadata.entries.map(({ key }) => key);
    expect(kept.filter((key) => !keys.includes(key) && key !== "general.quantization_version")).toEqual([]);
    await result.close();
  });

  it("tells how far it is, and leaves nothing behind when it is cancelled", async () => {
    const stop = new AbortController();
    const seen: number[] = [];
    const cancelled = saveTuned(model, tuning, made.params, at("never.gguf"), {
      type: "f32",
      signal: stop.signal,
      onProgress: ({ doneBytes, totalBytes }) => {
        seen.push(doneBytes / totalBytes);
        stop.abort();
      },
    });
    await expect(cancelled).rejects.toMatchObject({ code: "CANCELLED" });
    expect(seen[0]).toBeGreaterThan(0);
    expect(existsSync(at("never.gguf"))).toBe(false);
    await expect(
      saveTuned(model, tuning, made.params, at("packed.gguf"), { type: "f16", overwrite: true }),
    ).rejects.toThrow(/the file that is read/);
  });

  it("refuses what cannot be written, with what to do", async () => {
    const broken: TrainedNumbers = {
      ...made.params,
      "blk.0.attn_q.weight.lora_a": { data: new Float64Array(256).fill(NaN) },
    };
    await expect(saveAdapter(model, tuning, broken, at("nan.gguf"))).rejects.toThrow(/no finite numbers/);
    await expect(saveAdapter(model, tuning, {}, at("none.gguf"))).rejects.toThrow(/got no numbers, expected 256/);
    await expect(mergeAdapters(model, at("bare.gguf"), { type: "f16" })).rejects.toThrow(/a model without adapters/);
    const ofRows = loraTuning(model.file, { context: CONTEXT, batch: 1, rank: 2, tensors: ["token_embd"] });
    await expect(saveTuned(model, ofRows, drawn(ofRows), at("rows.gguf"), { type: "f16" })).rejects.toThrow(
      /gives the logits too/,
    );
  });

  it("is merged into experts, rows of an embedding and an output of its own too", async () => {
    const family = FAMILIES.find(({ architectures }) => architectures.includes("qwen3moe"))!;
    const sample = family.samples.find(({ architecture, untied }) => architecture === "qwen3moe" && untied === true)!;
    await writePlainToy(at("experts.gguf"), family, sample);
    const experts = await openModel(at("experts.gguf"));
    const own = loraTuning(experts.file, {
      ...{ context: CONTEXT, batch: 1, rank: 3, alpha: 1 },
      tensors: ["blk.*", "token_embd", "output.weight"],
    });
    expect(own.tensors).toEqual(
      expect.arrayContaining(["token_embd.weight", "output.weight", "blk.0.ffn_up_exps.weight"]),
    );
    await saveAdapter(experts, own, drawn(own), at("experts-adapter.gguf"));
    await saveTuned(experts, own, drawn(own), at("experts-merged.gguf"), { type: "f32" });
    await experts.close();
    const beside = await said(at("experts.gguf"), [at("experts-adapter.gguf")]);
    expect(farthest(beside, await said(at("experts.gguf")))).toBeGreaterThan(1);
    expect(farthest(beside, await said(at("experts-merged.gguf")))).toBeLessThan(1e-3);
  });

  it.each([
    [{ rank: 0 }, /rank: got 0/],
    [{ rank: 2.5 }, /rank: got 2.5/],
    [{ alpha: -1 }, /alpha: got -1/],
    [{ tensors: ["attn_z"] }, /got "attn_z"/],
    [{ context: 1 }, /context: got 1/],
    [{ context: 5000 }, /context: got 5000, expected 2 to 4096/],
    [{ batch: 0 }, /batch: got 0/],
  ])("refuses %j", (wrong, sentence) => {
    expect(() => loraTuning(model.file, { context: 8, batch: 1, ...wrong })).toThrow(sentence);
  });
});

describe("full fine-tuning", () => {
  it("trains every weight; an embedding that gives the logits too is one", async () => {
    const tuning = await fullTuning(model.file, { context: CONTEXT, batch: 1 });
    expect(tuning.trainable).toHaveLength(model.file.tensors.length);
    const made = await learned(tuning, 8, 0.01);
    expect(made.losses.at(-1)).toBeLessThan(0.5 * made.losses[0]!);
    const path = await saveTuned(model, tuning, made.params, at("full.gguf"), { type: "f32" });
    const logits = await said(path);
    expect(farthest(made.logits, logits)).toBeLessThan(0.02);
    const small = await saveTuned(model, tuning, made.params, at("full-q8_0.gguf"), { type: "q8_0" });
    expect(agreeing(made.logits, await said(small))).toBeGreaterThanOrEqual(CONTEXT - 2);
  });

  it("trains chosen tensors over others that stay packed", async () => {
    const tuning = await fullTuning(model.file, {
      context: CONTEXT,
      batch: 1,
      tensors: ["blk.1.*norm.weight", "ffn_down"],
    });
    expect(tuning.trainable.filter((name) => name.includes("norm"))).toHaveLength(4);
    const made = await learned(tuning, 8);
    expect(made.losses.at(-1)).toBeLessThan(made.losses[0]!);
    const path = await saveTuned(model, tuning, made.params, at("some.gguf"), { type: "f32" });
    expect(farthest(made.logits, await said(path))).toBeLessThan(0.05);
  });

  it("of packed weights themselves is refused with the way out", () => {
    const tuning = loraTuning(model.file, { context: 8, batch: 1 });
    const device = trainingDevice("cpu", { model });
    const packed = "blk.0.attn_q.weight";
    expect(() => new TrainingSession(tuning.graph, [packed], { [packed]: [] }, { device })).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(/LoRA.*dequantis/) as string }) as Error,
    );
  });
});

it("pads short windows, and learns only what is asked", () => {
  const sizes = { context: 4, batch: 2 };
  const { tokens: given, targets } = batchOf(sizes, [
    { tokens: [5, 6, 7, 8, 9] },
    { tokens: [1, 2, 3], learned: [false, false, true] },
  ]);
  expect([...given]).toEqual([5, 6, 7, 8, 1, 2, 3, 0]);
  expect([...targets]).toEqual([6, 7, 8, 9, -1, 3, -1, -1]);
});
