// What a compiled model is found by follows from the weights: another fine-tune has the size and the header, and is no match.
import { mkdtemp, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { GgufTensor } from "../../../formats/gguf/file.ts";
import { sampledRanges } from "../../../formats/gguf/samples.ts";
import { modelStoreIn } from "../../../testing/modelStore.ts";
import { writeTinyGguf } from "../../../testing/tinyGguf.ts";
import type { ModelStore } from "../../../engine/models/modelStore.ts";
import { weightFacts } from "./weightFacts.ts";

const { signal } = new AbortController();
let folder: string;
let path: string;
let store: ModelStore;
let close: () => Promise<void>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rlx-weight-facts-"));
  path = join(folder, "tiny.gguf");
  ({ store, close } = modelStoreIn(folder));
});
afterAll(async () => {
  await close();
  await rm(folder, { recursive: true, force: true });
});

async function facts(of = path): Promise<readonly string[]> {
  const model = await store.open({ kind: "path", path: of });
  const found = await weightFacts(model, signal);
  await store.close(model.id);
  return found;
}

/** In place and as if nothing had been written: inode and time stay. */
async function overwrite(bytes: Uint8Array): Promise<void> {
  const { atime, mtime } = await stat(path);
  await writeFile(path, bytes, { flag: "r+" });
  await utimes(path, atime, mtime);
}

it.each([1, 6])("another tensor retrained is another model, with %i layers", async (layers) => {
  await writeTinyGguf(path, { layers });
  // A time that a file system without nanoseconds holds, too.
  await utimes(path, 1_700_000_000, 1_700_000_000);
  const original = new Uint8Array(await readFile(path));
  const before = await facts();
  expect(await facts()).toEqual(before);
  const model = await store.open({ kind: "path", path });
  const tensors = model.requireFile("test").tensors;
  await store.close(model.id);
  for (const { name, offset, byteLength } of tensors) {
    const retrained = original.slice();
    const floats = new Float32Array(retrained.buffer, offset, byteLength / 4);
    floats.forEach((value, i) => (floats[i] = value * 1.01));
    await overwrite(retrained);
    const after = await facts();
    // Size, header, inode and time are the same: the samples tell.
    expect([name, after[0], after.slice(2)]).toEqual([name, before[0], before.slice(2)]);
    expect([name, after[1]]).not.toEqual([name, before[1]]);
  }
  await overwrite(original);
  expect(await facts()).toEqual(before);
});

it("a copy, and what was written later, is another file", async () => {
  await writeTinyGguf(path, { layers: 1 });
  const before = await facts();
  const copy = join(folder, "copy.gguf");
  await writeFile(copy, await readFile(path));
  const { atime, mtime } = await stat(path);
  await utimes(copy, atime, mtime);
  expect((await facts(copy)).slice(0, 2)).toEqual(before.slice(0, 2));
  expect(await facts(copy)).not.toEqual(before);
  await utimes(path, atime, new Date(mtime.getTime() + 1));
  expect(await facts()).not.toEqual(before);
});

it("a header has no weights to be known by", async () => {
  await writeTinyGguf(path, { layers: 1 });
  const bytes = new Uint8Array(await readFile(path));
  let need = await store.headers.begin("elsewhere.gguf", bytes.byteLength);
  while (need.kind === "more")
    need = await store.headers.feed(need.header, need.offset, bytes.subarray(need.offset, need.offset + need.length));
  const model = await store.open({ kind: "header", header: need.header });
  await expect(weightFacts(model, signal)).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
});

it("a small file is sampled at both ends of each tensor, a large one once in each", () => {
  const tensor = { byteLength: 10_000 } as GgufTensor;
  const offsets = (count: number) =>
    sampledRanges(Array.from({ length: count }, () => tensor)).map(({ offset }) => offset);
  expect(offsets(32)).toEqual(Array.from({ length: 32 }, () => [0, 10_000 - 4096]).flat());
  expect(offsets(34)).toEqual(Array.from({ length: 17 }, () => [0, 10_000 - 4096]).flat());
  expect(sampledRanges([{ byteLength: 100 } as GgufTensor])).toMatchObject([{ offset: 0, length: 100 }]);
});
