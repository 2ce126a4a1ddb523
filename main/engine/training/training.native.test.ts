/** Whole runs through the engine: what they tell, pause and stop, the same bits after a checkpoint, cancel, and what is kept. */
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { StreamItemOf } from "../../contract/contract.ts";
import type { TrainSpecInput } from "../../contract/views/train.ts";
import { memorySource } from "../../formats/byteSource.ts";
import { readSafetensors } from "../../formats/safetensors/header.ts";
import { numbersIn } from "../../ir/hostBytes.ts";
import { allowedFor } from "../../testing/pace.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import { npy, zip } from "../../testing/npzFile.ts";

const SAMPLE = fileURLToPath(new URL("../../../assets/models/rlx-sample.gguf", import.meta.url));

type Item = StreamItemOf<"train.start">;
type Done = Extract<Item, { readonly kind: "done" }>;

let harness: Harness;
beforeAll(async () => {
  harness = await engineHarness();
});
afterAll(() => harness.done());
const at = (name: string): string => join(harness.folder, name);
const ofKind = <K extends Item["kind"]>(items: readonly Item[], kind: K): Extract<Item, { readonly kind: K }>[] =>
  items.filter((item): item is Extract<Item, { readonly kind: K }> => item.kind === kind);
const doneOf = (items: readonly Item[]): Done => ofKind(items, "done")[0]!;

async function tensorsOf(path: string): Promise<ReadonlyMap<string, readonly number[]>> {
  const file = await readFile(path);
  const { tensors } = await readSafetensors(memorySource(path, file));
  return new Map(
    tensors.map(({ name, type, offset, byteLength }) => [
      name,
      Array.from(numbersIn(type === "F64" ? "f64" : "f32", file.subarray(offset, offset + byteLength))),
    ]),
  );
}

const SMALL: TrainSpecInput = {
  recipe: "characters",
  batch: 4,
  fields: { layers: 1, width: 16, heads: 2, context: 16 },
  validation: { every: 10 },
  sample: { every: 0 },
};

/** y = 0.5 x0 − x1 + 2 x2 + 0.25, of which rows are drawn. */
const LINE = `graph "line" {
  %x = input : f32[N,3]
  %y = input : f32[N,1]
  %w = param {memory: true, initial: "normal", scale: 0.5, seed: 1} : f32[1,3]
  %b = param {memory: true} : f32[1]
  %p = linear(%x, %w, %b)
  %d = sub(%p, %y)
  %s = mul(%d, %d)
  %loss = reduce(%s) {kind: "mean", axes: [0, 1]}
  return "prediction" = %p
  return "loss" = %loss
}
`;

async function lineFiles(): Promise<{ readonly graph: string; readonly data: string }> {
  const [graph, data] = [at("line.rlx"), at("line.npz")];
  const x = Float32Array.from({ length: 240 }, (_, i) => Math.sin(i * i + 1));
  const y = Float32Array.from({ length: 80 }, (_, i) => 0.5 * x[3 * i]! - x[3 * i + 1]! + 2 * x[3 * i + 2]! + 0.25);
  await writeFile(graph, LINE);
  await writeFile(data, zip({ "x.npy": npy("<f4", "(80, 3)", x), "y.npy": npy("<f4", "(80, 1)", y) }, true));
  return { graph, data };
}

describe("a graph in text", () => {
  it("is trained over arrays of the names of its inputs, on each device", async () => {
    const files = await lineFiles();
    const path = at("line-weights.safetensors");
    for (const device of ["cpu", "coreml-sim"]) {
      const items = await harness.all("train.start", {
        ...{ recipe: "graph", steps: 300, batch: 20, lr: 0.05, device },
        model: { kind: "path", path: files.graph },
        data: { kind: "path", path: files.data },
        output: { path, overwrite: true },
      });
      expect(ofKind(items, "started")[0]).toMatchObject({ title: "A graph of line", parameters: 4 });
      expect(ofKind(items, "validation").at(-1)!.loss).toBeLessThan(1e-4);
      const found = await tensorsOf(path);
      [0.5, -1, 2].forEach((wanted, i) => expect(found.get("w")![i]).toBeCloseTo(wanted, 2));
      expect(found.get("b")![0]).toBeCloseTo(0.25, 2);
      await harness.client.call("train.forget", { run: doneOf(items).run });
    }
  });

  it("is refused with what it lacks", async () => {
    const files = await lineFiles();
    const refusal = async (text: string, spec: Partial<TrainSpecInput> = {}): Promise<string> => {
      await writeFile(at("odd.rlx"), text);
      const asked = { recipe: "graph", steps: 1, batch: 20, data: { kind: "path", path: files.data } as const };
      const model = { kind: "path", path: at("odd.rlx") } as const;
      return harness.all("train.start", { ...asked, model, ...spec }).then(
        () => "trained",
        (error: unknown) => (error as Error).message,
      );
    };
    expect(await refusal(LINE, { data: { kind: "built-in" } })).toBe(
      "[train graph] data: got none, expected arrays x[rows,3], y[rows,1]",
    );
    expect(await refusal(LINE.replace("f32[N,3]", "f32[N,4]").replace("f32[1,3]", "f32[1,4]"))).toContain(
      "got x[80,3], y[80,1], expected x[rows,4], y[rows,1]",
    );
    expect(await refusal(LINE.replaceAll("[N,", "[64,"))).toContain("batch: got 20, expected 64");
    expect(
      await refusal(LINE.replaceAll("param {memory: true", "input {").replace(/input \{[^}]*\}/gu, "input")),
    ).toContain("parameters: got none");
    expect(await refusal(LINE.replace('"loss"', '"cost"'))).toContain("outputs: got prediction, cost, expected one");
    expect(await refusal(LINE, { model: { kind: "path", path: SAMPLE } })).toContain("got a model's file");
    expect(await refusal(LINE, { recipe: "lora" })).toContain("model: got a graph in text, expected the one that");
  });
});

describe("a run", () => {
  it("tells its course in few items, learns, writes its weights, and is kept", async () => {
    const path = at("line.safetensors");
    const items = await harness.all("train.start", { recipe: "linear", steps: 600, output: { path } });
    const [started] = ofKind(items, "started");
    expect(started).toMatchObject({ recipe: "linear", parameters: 3, trainedParameters: 3, from: 0, steps: 600 });
    expect(started!.update).toMatchObject({ path: "gradient", fused: true });
    const told = ofKind(items, "steps");
    expect(told.flatMap(({ step }) => [...step])).toEqual(Array.from({ length: 600 }, (_, i) => i + 1));
    expect(told.length).toBeLessThan(1 + (told.at(-1)!.elapsedSeconds * 1000) / 50);
    const losses = told.flatMap(({ loss }) => [...loss]);
    expect(losses.at(-1)).toBeLessThan(losses[0]! / 100);
    expect(told[0]!.norm[0]).toBeGreaterThan(0);
    expect(ofKind(items, "norms")[0]!.norms).toEqual([{ layer: "W", norm: expect.any(Number) as number }]);

    const done = doneOf(items);
    expect(done).toMatchObject({ state: "done", steps: 600, results: [{ what: "weights", path }] });
    const header = (await readFile(path)).subarray(8, 200).toString();
    expect(header).toContain('"recipe":"linear"');
    const { runs } = await harness.client.call("train.runs", {});
    expect(runs[0]).toMatchObject({ run: done.run, state: "done", step: 600 });
    const kept = await harness.client.call("train.run", { run: done.run });
    expect(kept.spec).toMatchObject({ recipe: "linear", steps: 600 });
    expect(kept.curve.step.length).toBeLessThanOrEqual(2000);
    expect(kept.curve.step.at(-1)).toBe(600);
    await harness.client.call("train.forget", { run: done.run });
    expect((await harness.client.call("train.runs", {})).runs).toEqual([]);
    expect((await stat(path)).isFile()).toBe(true);
  });

  it("adds batches up, trains groups in their own way, and writes the average of the weights", async () => {
    const spec: TrainSpecInput = {
      ...{ ...SMALL, steps: 4, batch: 2, accumulate: 2, average: 0.5 },
      groups: [
        { names: ["embed"], lr: 0 },
        { rank: 2, optimizer: { name: "muon" }, lr: 0.02 },
      ],
    };
    const [first, rest] = [at("first.safetensors"), at("groups.safetensors")];
    const checkpoint = { path: at("groups-half.safetensors"), every: 2 };
    const items = await harness.all("train.start", { ...spec, checkpoint, output: { path: first } });
    const [started] = ofKind(items, "started");
    expect(started!.update).toMatchObject({ fused: false, reason: expect.stringContaining("2 batches") as string });
    expect(started!.settings).toMatchObject({ accumulate: 2, average: 0.5, groups: [{ lr: 0 }, { rank: 2 }] });
    expect(doneOf(items)).toMatchObject({ state: "done", steps: 4 });
    // The checkpoint of the end has the weights and their average, and the result is the average.
    const kept = await tensorsOf(checkpoint.path);
    const written = await tensorsOf(first);
    const name = [...written.keys()].find((own) => own.includes("qkv"))!;
    const average = [...kept.keys()].find((own) => own.includes("average") && own.endsWith(name))!;
    expect(written.get(name)).toEqual(kept.get(average)!.map(Math.fround));
    expect(written.get(name)).not.toEqual(kept.get(name)!.map(Math.fround));
    // A rate of 0 holds a parameter where it was.
    const embedding = [...written.keys()].find((own) => own.includes("embed"))!;
    const untouched = await harness.all("train.start", { ...SMALL, batch: 2, steps: 1, lr: 0, output: { path: rest } });
    expect(doneOf(untouched).state).toBe("done");
    expect((await tensorsOf(rest)).get(embedding)).toEqual(written.get(embedding));
    const idle = harness.all("train.start", { ...spec, groups: [{ names: ["nosuch"] }] });
    await expect(idle).rejects.toThrow("[train] group 1: takes no parameter");
  });

  it("goes on from its checkpoint with the same bits, after a pause and a stop", async () => {
    const whole = at("whole.safetensors");
    const items = await harness.all("train.start", { ...SMALL, steps: 24, output: { path: whole } });
    expect(ofKind(items, "validation").map(({ step }) => step)).toEqual([10, 20, 24]);

    const checkpoint = { path: at("half.safetensors") };
    const half: Item[] = [];
    for await (const item of harness.client.stream("train.start", {
      ...SMALL,
      ...{ steps: 24, checkpoint, norms: { every: 4 } },
    })) {
      half.push(item);
      if (item.kind === "started") await harness.client.call("train.pause", { run: item.run });
      if (item.kind === "paused") {
        const [row] = (await harness.client.call("train.runs", {})).runs;
        expect(row).toMatchObject({ state: "paused", step: item.step });
        await harness.client.call("train.resume", { run: row!.run });
      }
      if (item.kind === "norms") await harness.client.call("train.stop", { run: ofKind(half, "started")[0]!.run });
    }
    expect(ofKind(half, "resumed")).toHaveLength(1);
    const stopped = doneOf(half);
    expect(stopped).toMatchObject({ state: "stopped", results: [{ what: "checkpoint", path: checkpoint.path }] });
    expect(stopped.steps).toBeGreaterThanOrEqual(4);
    expect(stopped.steps).toBeLessThan(24);

    const rest = at("rest.safetensors");
    const last = await harness.all("train.start", {
      ...SMALL,
      steps: 24,
      resume: checkpoint.path,
      output: { path: rest },
    });
    expect(ofKind(last, "started")[0]!.from).toBe(stopped.steps);
    expect(await readFile(rest)).toEqual(await readFile(whole));
    expect(doneOf(last).validation).toBe(doneOf(items).validation);
  });

  it("answers others while it trains, and is gone soon after its stream is left", async () => {
    const stream = new AbortController();
    let slowest = 0;
    let leftAt = 0;
    const work = (async () => {
      for await (const item of harness.client.stream(
        "train.start",
        { ...SMALL, steps: 1_000_000, fused: false, validation: { every: 0 } },
        { signal: stream.signal },
      ))
        if (item.kind === "steps") {
          for (let i = 0; i < 10; i++) {
            const asked = performance.now();
            await harness.client.call("engine.status", {});
            slowest = Math.max(slowest, performance.now() - asked);
          }
          leftAt = performance.now();
          stream.abort();
        }
    })();
    await expect(work).rejects.toMatchObject({ code: "CANCELLED" });
    const answering = await allowedFor(slowest, 50);
    expect(slowest, answering.sentence).toBeLessThan(answering.ms);
    while ((await harness.client.call("engine.status", {})).jobs.length > 0)
      await new Promise((resolve) => setTimeout(resolve, 2));
    const spent = performance.now() - leftAt;
    const leaving = await allowedFor(spent, 100);
    expect(spent, leaving.sentence).toBeLessThan(leaving.ms);
    const [row] = (await harness.client.call("train.runs", {})).runs;
    expect(row).toMatchObject({ state: "cancelled" });
  });

  it("ends with an alarm that names the operation where a number is none", async () => {
    const items = await harness.all("train.start", { recipe: "linear", steps: 500, lr: 900 });
    const [alarm] = ofKind(items, "alarm");
    expect(alarm!.alarm.op).toBeTypeOf("string");
    expect(alarm!.alarm.sentence).toMatch(/\.$/u);
    expect(doneOf(items)).toMatchObject({ state: "failed", results: [] });
  });

  it("reads arrays and texts of files, and refuses what is no data", async () => {
    const text = at("words.txt");
    await writeFile(text, "one two three four five six seven. ".repeat(20));
    const data = { kind: "path", path: text } as const;
    const plan = await harness.client.call("train.plan", { ...SMALL, data });
    expect(plan).toMatchObject({ can: { ok: true }, update: { fused: true } });
    expect(plan.data).toMatch(/^700 characters of \d+ kinds, 70 of them for validation$/u);
    expect(plan.memory.value).toBeGreaterThan(4 * 4 * plan.parameters);
    const linear = harness.client.call("train.plan", { recipe: "linear", data });
    await expect(linear).rejects.toMatchObject({
      code: "INPUT_ARGUMENT",
      message: expect.stringContaining("got a text") as string,
    });
    const odd = harness.client.call("train.plan", { recipe: "linear", fields: { depth: 3 } });
    await expect(odd).rejects.toThrow("[train linear] field: got depth, expected loss");
    const other = harness.all("train.start", { recipe: "linear", output: { path: at("weights.bin") } });
    await expect(other).rejects.toThrow("expected a name that ends in .safetensors");
  });

  it("adapts a model to chats: the answers are learned, and its adapter opens with it", async () => {
    const path = at("adapter.gguf");
    const chats = at("chats.jsonl");
    const chat = {
      messages: [
        { role: "user", content: "Hello" },
        { role: "assistant", content: "The goat says hello." },
      ],
    };
    await writeFile(chats, `${JSON.stringify(chat)}\n`.repeat(4));
    const items = await harness.all("train.start", {
      recipe: "lora",
      model: { kind: "path", path: SAMPLE },
      data: { kind: "path", path: chats },
      ...{ steps: 8, batch: 1, lr: 0.01, validation: { every: 4, share: 0.25 } },
      sample: { every: 8, tokens: 3, prompt: "Hello", temperature: 0 },
      fields: { rank: 2, context: 48, tensors: "attn_q, attn_v" },
      output: { path },
    });
    const losses = ofKind(items, "validation").map(({ loss }) => loss);
    expect(losses[1]).toBeLessThan(losses[0]!);
    const [started] = ofKind(items, "started");
    expect(started!.trainedParameters).toBeLessThan(started!.parameters / 20);
    expect(ofKind(items, "sample")).toHaveLength(1);
    expect(ofKind(items, "norms")[0]!.norms[0]!.layer).toMatch(/^blk\.\d+$/u);
    const [result] = doneOf(items).results;
    expect(result).toMatchObject({ what: "adapter", path, opens: "adapter", model: SAMPLE });
    const source = { kind: "path", path: SAMPLE } as const;
    const opened = await harness.client.call("model.open", { source, adapters: [{ path, scale: 1 }] });
    await harness.client.call("model.close", { model: opened.model });
    const without = harness.all("train.start", { recipe: "lora" });
    await expect(without).rejects.toThrow("[train lora] model: got none");
    const itself = harness.all("train.start", {
      ...{ recipe: "lora", model: source, fields: { rank: 1, context: 8, tensors: "blk.0.attn_q" } },
      output: { path: SAMPLE, overwrite: true },
    });
    await expect(itself).rejects.toThrow("which is the model that is read");
  });

  it("merges an adapter into a model of its own, and trains the weights themselves", async () => {
    const model = { kind: "path", path: SAMPLE } as const;
    const few = { ...{ steps: 2, batch: 1, lr: 0.01, validation: { every: 0 } }, sample: { every: 0 } };
    const fields = { context: 8, tensors: "blk.0.attn_q" };
    const cases = [
      { path: at("merged.gguf"), recipe: "lora", fields: { ...fields, rank: 1, merge: "q8_0" } },
      { path: at("tuned.gguf"), recipe: "full", fields: { ...fields, type: "f32" } },
    ];
    for (const { path, recipe, fields } of cases) {
      const items = await harness.all("train.start", { recipe, model, ...few, fields, output: { path } });
      const [result] = doneOf(items).results;
      expect(result).toMatchObject({ what: "model", opens: "model", path, bytes: (await stat(path)).size });
      const opened = await harness.client.call("model.open", { source: { kind: "path", path } });
      // The adapter is in the weights: there is nothing beside them.
      const [started] = ofKind(items, "started");
      const beside = recipe === "lora" ? started!.trainedParameters : 0;
      expect(opened.parameters).toBe(started!.parameters - beside);
      await harness.client.call("model.close", { model: opened.model });
    }
  });

  it("lists recipes, devices and optimisers", async () => {
    const { recipes, devices, optimizers } = await harness.client.call("train.recipes", {});
    expect(recipes.map(({ id }) => id)).toEqual(["linear", "digits", "characters", "graph", "lora", "full"]);
    expect(devices.find(({ id }) => id === "cpu")).toMatchObject({ available: true, update: { fused: true } });
    expect(devices.find(({ id }) => id === "coreml-sim")).toMatchObject({ available: true, update: { fused: false } });
    expect(optimizers.find(({ name }) => name === "adamw")?.options["beta1"]).toBe(0.9);
  });

  it("trains as a package in the simulator of Core ML", async () => {
    const items = await harness.all("train.start", { recipe: "linear", steps: 5, device: "coreml-sim" });
    expect(ofKind(items, "started")[0]!.update.fused).toBe(false);
    expect(doneOf(items)).toMatchObject({ state: "done", steps: 5 });
  });
});
