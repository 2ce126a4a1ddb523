/** A model in smaller types through the engine: the plan, the file, its errors, overrides, an importance matrix, cancel and refusals. */
import { existsSync } from "node:fs";
import { copyFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memorySink } from "../../formats/byteSink.ts";
import { stringEntry } from "../../formats/gguf/encode.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import { ggmlTypeByName } from "../../formats/gguf/types.ts";
import type { TensorToWrite } from "../../formats/gguf/write.ts";
import { writeGguf } from "../../formats/gguf/write.ts";
import { openFileSource } from "../../node/files/fileByteSource.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import { writePlainFolder } from "../../testing/plainFolder.ts";
import { seededRandom } from "../../testing/random.ts";
import { writeSampleAdapter } from "../../testing/sampleAdapter.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";

const sample = fileURLToPath(new URL("../../../assets/models/rlx-sample.gguf", import.meta.url));
let harness: Harness;
let model: string;
const at = (name: string): string => join(harness.folder, name);

beforeAll(async () => {
  harness = await engineHarness();
  ({ model } = await harness.client.call("model.open", { source: { kind: "path", path: sample } }));
});
afterAll(() => harness.done());

async function typesIn(path: string): Promise<Readonly<Record<string, string>>> {
  const file = await openGguf(await openFileSource(path));
  const types = Object.fromEntries(file.tensors.map(({ name, type }) => [name, type.name]));
  await file.close();
  return types;
}

/** An importance matrix as llama.cpp writes one, for these tensors. */
async function writeImportance(path: string, columns: Readonly<Record<string, number>>): Promise<void> {
  const type = ggmlTypeByName("f32")!;
  const floats = (name: string, dims: readonly number[], value: (i: number) => number): TensorToWrite => ({
    name,
    type,
    dims,
    data: () => [
      new Uint8Array(Float32Array.from({ length: dims.reduce((n, d) => n * d, 1) }, (_, i) => value(i)).buffer),
    ],
  });
  const random = seededRandom(3);
  const sink = memorySink();
  await writeGguf(sink, {
    entries: [stringEntry("general.type", "imatrix")],
    tensors: Object.entries(columns).flatMap(([name, count]) => [
      floats(`${name}.in_sum2`, [count, 1], () => 10 * Math.exp(random.normal())),
      floats(`${name}.counts`, [1, 1], () => 10),
    ]),
  });
  await writeFile(path, sink.bytes());
}

describe("quantising the sample", () => {
  it("writes what the plan says, and the file opens, runs and tells its type", async () => {
    const plan = await harness.client.call("quantize.plan", { model, recipe: "q4_k_m" });
    expect(plan.can).toEqual({ ok: true });
    expect(plan.recipes.map(({ id }) => id)).toContain("iq4_xs");
    const path = at("small.gguf");
    const items = await harness.all("quantize.run", { model, recipe: "q4_k_m", path });
    const done = items.at(-1);
    if (done?.kind !== "done") throw new Error("no report");
    expect(done.path).toBe(path);
    expect(await typesIn(path)).toEqual(Object.fromEntries(plan.tensors.map(({ name, to }) => [name, to])));
    expect(
      done.tensors.every(({ from, to, relativeRms }) => (from === to ? relativeRms === 0 : relativeRms < 0.2)),
    ).toBe(true);
    const { model: small, ...overview } = await harness.client.call("model.open", { source: { kind: "path", path } });
    expect(overview.variant).toBe("Q4_K_M");
    const run = await harness.all("run.start", {
      model: small,
      prompt: { kind: "completion", text: "Once" },
      maxTokens: 4,
    });
    expect(run.at(-1)?.kind).toBe("done");
    await harness.client.call("model.close", { model: small });
  });

  it("measures without writing, and gives chosen tensors chosen types", async () => {
    const overrides = [{ pattern: "*ffn_down*", type: "q8_0" }];
    const items = await harness.all("quantize.run", { model, recipe: "q4_0", overrides, output: "f16" });
    const done = items.at(-1);
    if (done?.kind !== "done") throw new Error("no report");
    expect(done.path).toBeNull();
    const types = new Set(done.tensors.filter(({ name }) => name.includes("ffn_down")).map(({ to }) => to));
    expect([...types]).toEqual(["q8_0"]);
  });

  it("takes an importance matrix, and refuses one of another model", async () => {
    const columns: Record<string, number> = {};
    const source = await openGguf(await openFileSource(sample));
    for (const { name, dims } of source.tensors) if (name.includes("ffn_up")) columns[name] = dims[0]!;
    await source.close();
    await writeImportance(at("own.gguf"), columns);
    const items = await harness.all("quantize.run", { model, recipe: "q4_0", importance: at("own.gguf") });
    expect(items.at(-1)?.kind).toBe("done");
    await writeImportance(at("other.gguf"), Object.fromEntries(Object.keys(columns).map((name) => [name, 33])));
    const refused = harness.all("quantize.run", { model, recipe: "q4_0", importance: at("other.gguf") });
    await expect(refused).rejects.toMatchObject({
      code: "INPUT_ARGUMENT",
      hint: expect.stringContaining("another model"),
    });
    await writeImportance(at("strange.gguf"), { "blk.0.none.weight": 32 });
    const unknown = harness.all("quantize.run", { model, recipe: "q4_0", importance: at("strange.gguf") });
    await expect(unknown).rejects.toMatchObject({ message: expect.stringContaining("none of the model's weights") });
    const model2 = harness.all("quantize.run", { model, recipe: "q4_0", importance: sample });
    await expect(model2).rejects.toMatchObject({ message: expect.stringContaining("expected an importance matrix") });
  });

  it("gathers an importance matrix over a text in chunks, which a recipe below 3 bits takes", async () => {
    const path = at("gathered.gguf");
    const text = "Once upon a time there was a cat. ".repeat(6);
    const items = await harness.all("quantize.importance", { model, text, textName: "cats", path, chunk: 16 });
    const done = items.at(-1);
    if (done?.kind !== "done") throw new Error("no report");
    expect(items.filter(({ kind }) => kind === "progress").length).toBe(done.chunks + 1);
    expect(done.chunks).toBeGreaterThan(2);
    const file = await openGguf(await openFileSource(path));
    expect(file.metadata.optionalString("general.type")).toBe("imatrix");
    expect(file.metadata.countOrList("imatrix.chunk_size")).toBe(16);
    const counts = file.requireTensor("blk.0.attn_q.weight.counts");
    expect([...new Float32Array((await file.readTensor(counts)).slice().buffer)]).toEqual([done.tokens]);
    await file.close();
    const run = await harness.all("quantize.run", { model, recipe: "iq2_xs", importance: path });
    expect(run.at(-1)?.kind).toBe("done");

    const controller = new AbortController();
    const stopped = at("stopped.gguf");
    const input = { model, text, path: stopped, chunk: 1 };
    const stream = harness.client.stream("quantize.importance", input, { signal: controller.signal });
    await (async () => {
      for await (const item of stream) if (item.kind === "progress" && item.done === 2) controller.abort();
    })().catch(() => undefined);
    expect((await readdir(harness.folder)).filter((name) => name.includes("stopped"))).toEqual([]);
  });

  it("is not written over the file that is read, and not with adapters", async () => {
    const path = at("own-place.gguf");
    await copyFile(sample, path);
    const { model: own } = await harness.client.call("model.open", { source: { kind: "path", path } });
    const over = harness.all("quantize.run", { model: own, recipe: "q4_0", path, overwrite: true });
    await expect(over).rejects.toMatchObject({ message: expect.stringContaining("is the file that is read") });
    const adapter = at("adapter.gguf");
    await writeSampleAdapter(adapter);
    const source = { kind: "model", model: own } as const;
    const adapted = await harness.client.call("model.open", { source, adapters: [{ path: adapter }] });
    const refusal = expect.objectContaining({
      code: "INPUT_ARGUMENT",
      message: expect.stringContaining("got a model with an adapter"),
    }) as Error;
    await expect(harness.client.call("quantize.plan", { model: adapted.model, recipe: "q4_0" })).rejects.toThrow(
      refusal,
    );
    await expect(harness.client.call("convert.plan", { model: adapted.model })).rejects.toThrow(refusal);
  });

  it("gathers the same importance matrix from a folder as from the GGUF that it becomes", async () => {
    const folder = at("folder");
    await writePlainFolder(folder);
    const gather = async (from: string): Promise<Buffer> => {
      const opened = await harness.client.call("model.open", { source: { kind: "path", path: from } });
      const path = `${from}-matrix.gguf`;
      await harness.all("quantize.importance", { model: opened.model, text: "the rest of it", path, chunk: 4 });
      return readFile(path);
    };
    const { model: made } = await harness.client.call("model.open", { source: { kind: "path", path: folder } });
    const converted = at("converted.gguf");
    await harness.all("convert.run", { model: made, path: converted });
    expect((await gather(folder)).equals(await gather(converted))).toBe(true);
  });

  it.each([
    ["an unknown recipe", { recipe: "q4_k_x" }, "recipe: got q4_k_x"],
    ["an unknown type", { recipe: "q4_0", output: "q9_9" }, "expected a type of ggml"],
    ["a recipe below 3 bits without an importance matrix", { recipe: "iq2_xs" }, "got no importance matrix"],
    ["a name without the ending", { recipe: "q4_0", path: "/tmp/x.bin" }, "ends in .gguf"],
    ["a folder that is not there", { recipe: "q4_0", path: "/nowhere/x.gguf" }, "does not exist"],
    ["the file itself", { recipe: "q4_0", path: sample, overwrite: true }, "is the file that is read"],
  ])("%s is refused", async (_, input, message) => {
    const refused = harness.all("quantize.run", { model, ...input });
    await expect(refused).rejects.toMatchObject({ code: "INPUT_ARGUMENT", message: expect.stringContaining(message) });
  });

  it("leaves nothing behind when it is cancelled, and names a tensor with values that are no numbers", async () => {
    const controller = new AbortController();
    const path = at("cancelled.gguf");
    const stream = harness.client.stream(
      "quantize.run",
      { model, recipe: "q6_k", path },
      { signal: controller.signal },
    );
    let seen = 0;
    await (async () => {
      for await (const _ of stream) if (++seen === 3) controller.abort();
    })().catch(() => undefined);
    expect(seen).toBeGreaterThanOrEqual(3);
    expect(existsSync(path)).toBe(false);
    expect((await readdir(harness.folder)).filter((name) => name.includes("cancelled"))).toEqual([]);

    const broken = at("broken.gguf");
    await writeTinyGguf(broken);
    const bytes = await readFile(broken);
    const whole = await openGguf(await openFileSource(broken));
    bytes.writeUInt32LE(0x7fc00000, whole.requireTensor("blk.1.ffn_up.weight").offset + 4 * 70);
    await whole.close();
    await writeFile(broken, bytes);
    const { model: bad } = await harness.client.call("model.open", { source: { kind: "path", path: broken } });
    await expect(harness.all("quantize.run", { model: bad, recipe: "q8_0" })).rejects.toMatchObject({
      code: "INPUT_MALFORMED",
      message: expect.stringMatching(/blk\.1\.ffn_up\.weight": got values that are not finite, 1 in rows \d+ to \d+/u),
    });
  });
});
