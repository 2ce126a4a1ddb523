import { readdirSync } from "node:fs";
import { mkdtemp, readFile, readdir, rm, stat, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { GgufTensor } from "../../formats/gguf/file.ts";
import { modelStoreIn } from "../../testing/modelStore.ts";
import { writePlainFolder } from "../../testing/plainFolder.ts";
import { writeSampleAdapter } from "../../testing/sampleAdapter.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import type { ModelStore } from "./modelStore.ts";
import type { Uploads } from "../services.ts";
import { createUploads } from "../../node/files/uploads.ts";

let folder: string;
let bytes: Uint8Array;
let uploads: Uploads;
let store: ModelStore;
let close: () => Promise<void>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rlx-model-store-"));
  await writeTinyGguf(join(folder, "tiny.gguf"), { layers: 1 });
  bytes = new Uint8Array(await readFile(join(folder, "tiny.gguf")));
  ({ store, uploads, close } = modelStoreIn(folder));
});
afterAll(async () => {
  await close();
  await rm(folder, { recursive: true, force: true });
});

async function send(content: Uint8Array): Promise<string> {
  const { upload } = await uploads.begin("tiny.gguf", content.byteLength);
  await uploads.chunk(upload, 0, content);
  await uploads.finish(upload);
  return upload;
}

it("what was sent for a model goes when the last model of it is closed", async () => {
  const upload = await send(bytes);
  const { path } = uploads.pathOf(upload);
  const first = await store.open({ kind: "upload", upload });
  const second = await store.open({ kind: "upload", upload });
  await store.close(first.id);
  expect((await stat(path)).size).toBe(bytes.byteLength);
  await store.close(second.id);
  await expect(stat(dirname(path))).rejects.toMatchObject({ code: "ENOENT" });
  expect(() => uploads.pathOf(upload)).toThrow(expect.objectContaining({ code: "HANDLE_UNKNOWN" }) as Error);
});

it("what was attached goes with its model, and at once when it was another file", async () => {
  const model = await store.open({ kind: "path", path: join(folder, "tiny.gguf") });
  const opened = model.requireFile("test");
  const [same, other] = [await send(bytes), await send(bytes.subarray(0, bytes.byteLength - 1))];
  await store.attach(model.id, { kind: "upload", upload: same });
  const refused = uploads.pathOf(other).path;
  await expect(store.attach(model.id, { kind: "upload", upload: other })).rejects.toThrow();
  await expect(stat(dirname(refused))).rejects.toMatchObject({ code: "ENOENT" });
  const { path } = uploads.pathOf(same);
  await store.close(model.id);
  await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
  await expect(opened.readTensor([...opened.tensors.values()][0]!)).rejects.toThrow();
  for (const upload of [same, other])
    expect(() => uploads.pathOf(upload)).toThrow(expect.objectContaining({ code: "HANDLE_UNKNOWN" }) as Error);
});

it("what was sent and is no model goes at once; what has not arrived whole goes on arriving", async () => {
  const upload = await send(bytes.subarray(0, 100));
  const { path } = uploads.pathOf(upload);
  await expect(store.open({ kind: "upload", upload })).rejects.toThrow();
  await expect(stat(dirname(path))).rejects.toMatchObject({ code: "ENOENT" });
  const half = (await uploads.begin("tiny.gguf", bytes.byteLength)).upload;
  await expect(store.open({ kind: "upload", upload: half })).rejects.toMatchObject({ code: "HANDLE_BUSY" });
  await uploads.chunk(half, 0, bytes);
  await uploads.finish(half);
  await store.close((await store.open({ kind: "upload", upload: half })).id);
});

it("a failed attempt leaves what another model was made of", async () => {
  const upload = await send(bytes);
  const first = await store.open({ kind: "upload", upload });
  await expect(store.open({ kind: "upload", upload }, AbortSignal.abort())).rejects.toThrow();
  expect((await stat(uploads.pathOf(upload).path)).size).toBe(bytes.byteLength);
  await store.close(first.id);
  expect(() => uploads.pathOf(upload)).toThrow(expect.objectContaining({ code: "HANDLE_UNKNOWN" }) as Error);
});

it("an upload that cannot be begun leaves no folder", async () => {
  await expect(uploads.begin("x".repeat(1000), 1)).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
});

it("eight files may be on their way; one that was left for a minute makes room", async () => {
  let time = 0;
  const many = createUploads(() => time);
  try {
    // At once, so that none can slip in while the place of another is being made.
    const begun = await Promise.allSettled(Array.from({ length: 10 }, async (_, i) => many.begin(`${i}.gguf`, 4)));
    expect(begun.filter(({ status }) => status === "fulfilled")).toHaveLength(8);
    expect(begun.at(-1)).toMatchObject({ reason: { code: "HANDLE_BUSY" } });
    const [left, kept] = begun.flatMap((one) => (one.status === "fulfilled" ? [one.value.upload] : []));
    time = 50_000;
    await many.chunk(kept!, 0, new Uint8Array(2));
    time = 61_000;
    await many.begin("late.gguf", 4);
    await expect(many.chunk(left!, 0, new Uint8Array(4))).rejects.toMatchObject({ code: "HANDLE_UNKNOWN" });
    expect(await many.chunk(kept!, 2, new Uint8Array(2))).toBe(4);
  } finally {
    await many.dispose();
  }
});

it("the room that a file on its way was promised is not promised again", async () => {
  const { bavail, bsize } = await statfs(tmpdir());
  const most = Math.floor(bavail * bsize * 0.6);
  await uploads.begin("half.gguf", most);
  await expect(uploads.begin("other.gguf", most)).rejects.toMatchObject({ code: "ENV_IO" });
});

/** What the window does with a file that lies there: gives the ranges that are asked for. */
async function drop(
  content: Uint8Array,
  name = "tiny.gguf",
): Promise<{ header: string; foundPath: string | null; asked: number }> {
  let need = await store.headers.begin(name, content.byteLength);
  for (let asked = 0; ; asked++) {
    if (need.kind === "ready") return { header: need.header, foundPath: need.foundPath, asked };
    const { header, offset, length } = need;
    need = await store.headers.feed(header, offset, content.subarray(offset, offset + length));
  }
}

/** The file with other numbers in every tensor. */
function trainedFurther(tensors: readonly GgufTensor[]): Uint8Array {
  const content = bytes.slice();
  for (const { offset, byteLength } of tensors) {
    const floats = new Float32Array(content.buffer, offset, byteLength / 4);
    floats.forEach((value, i) => (floats[i] = value * 1.01));
  }
  return content;
}

it("a dropped file that had no like here is told from one that came later", async () => {
  const opened = await store.open({ kind: "path", path: join(folder, "tiny.gguf") });
  const later = join(folder, "later.gguf");
  const dropped = await drop(bytes, "later.gguf");
  expect(dropped.foundPath).toBeNull();
  const model = await store.open({ kind: "header", header: dropped.header });
  const { id } = model;
  const file = model.requireFile("test");
  // The window has been asked what was needed, and is not waited for again.
  await expect(file.readTensor(file.tensors[0]!)).rejects.toMatchObject({ code: "INPUT_NOT_FOUND" });
  await writeFile(later, trainedFurther(opened.requireFile("test").tensors));
  expect((await store.locate(id, folder)).path).toBeNull();
  await writeFile(later, bytes);
  expect((await store.locate(id, folder)).path).toBe(later);
});

it("a dropped file is found where it lies, and one of its name, size and header that was trained further is not", async () => {
  const path = join(folder, "tiny.gguf");
  const opened = await store.open({ kind: "path", path });
  const { tensors } = opened.requireFile("test");
  await store.close(opened.id);
  const same = await drop(bytes);
  expect(same.foundPath).toBe(path);
  expect(same.asked).toBeLessThan(20);
  const retrained = trainedFurther(tensors);
  const other = await drop(retrained);
  expect(other.foundPath).toBeNull();
  // Nor is it when somebody names the folder.
  const model = await store.open({ kind: "header", header: other.header });
  expect((await store.locate(model.id, folder)).path).toBeNull();
  const again = await store.open({ kind: "header", header: same.header });
  expect((await store.locate(again.id, folder)).path).toBe(path);
});

/** What the window does with a folder: gives the ranges of its files that are asked for. */
async function dropFolder(
  path: string,
  name: string,
): Promise<{ header: string; foundPath: string | null; asked: Set<string> }> {
  const names = (await readdir(path)).filter((each) => each !== "config.json");
  const contents = new Map(
    await Promise.all(names.map(async (each) => [each, await readFile(join(path, each))] as const)),
  );
  const config = await readFile(join(path, "config.json"));
  const beside = [...contents, ["config.json", config] as const].map(([each, { byteLength }]) => ({
    name: each,
    size: byteLength,
  }));
  const asked = new Set<string>();
  let need = await store.headers.begin("config.json", config.byteLength, { folder: name, beside });
  while (need.kind === "more") {
    const { header, file, offset, length } = need;
    if (file !== null) asked.add(file);
    const bytes_ = file === null ? config : (contents.get(file) ?? config);
    need = await store.headers.feed(header, offset, bytes_.subarray(offset, offset + length));
  }
  return { header: need.header, foundPath: need.foundPath, asked };
}

it("a dropped folder is a model, is found where it lies, and is the same when it was sent", async () => {
  const path = join(folder, "Toy model");
  await writePlainFolder(path, { shards: 2 });
  const { header, foundPath, asked } = await dropFolder(path, "Toy model");
  expect(foundPath).toBe(path);
  const shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
  expect([...asked]).toEqual(expect.arrayContaining(["model.safetensors.index.json", "tokenizer.json", ...shards]));
  const model = await store.open({ kind: "header", header });
  expect(model.description.architecture).toMatchObject({ kind: "known", architecture: { name: "llama" } });
  expect(model.file?.name).toBe("Toy model");
  expect(await store.locate(model.id, folder)).toMatchObject({ path });

  const files = await Promise.all(
    [...asked]
      .filter((each) => each !== "config.json")
      .map(async (each) => [each, await readFile(join(path, each))] as const),
  );
  const config = await readFile(join(path, "config.json"));
  const beside = files.map(([each, { byteLength }]) => ({ name: each, size: byteLength }));
  const { upload } = await uploads.begin("config.json", config.byteLength, { folder: "Toy model", beside });
  let at = 0;
  for (const content of [config, ...files.map(([, each]) => each)]) {
    await uploads.chunk(upload, at, content);
    at += content.byteLength;
  }
  await uploads.finish(upload);
  await store.attach(model.id, { kind: "upload", upload });
  expect(model.data.kind).toBe("made");
  await store.close(model.id);
});

it("an open model is opened once more from where its bytes lie, but for one that only a window has", async () => {
  const upload = await send(bytes);
  const first = await store.open({ kind: "upload", upload });
  const again = await store.open({ kind: "model", model: first.id });
  await store.close(first.id);
  expect((await stat(again.path ?? "")).size).toBe(bytes.byteLength);
  await store.close(again.id);
  const { header } = await drop(bytes, "only-here.gguf");
  const remote = await store.open({ kind: "header", header });
  await expect(store.open({ kind: "model", model: remote.id })).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
  await store.close(remote.id);
});

it("adapters go with a GGUF that engines map, and what was opened for them is closed", async () => {
  const path = join(folder, "With adapters");
  await writePlainFolder(path);
  const adapter = join(folder, "adapter.gguf");
  await writeSampleAdapter(adapter, "llama");
  const open = (): number => readdirSync("/proc/self/fd").length;
  const before = process.platform === "linux" ? open() : 0;
  const opening = store.open({ kind: "path", path }, undefined, [{ path: adapter, scale: 1 }]);
  await expect(opening).rejects.toMatchObject({ code: "INPUT_ARGUMENT", hint: expect.stringContaining("rlx convert") });
  if (process.platform === "linux") expect(open()).toBe(before);
});
