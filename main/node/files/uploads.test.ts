import type { FileHandle } from "node:fs/promises";
import { open, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { createUploads } from "./uploads.ts";

const uploads = createUploads();
afterEach(async () => {
  vi.restoreAllMocks();
  await uploads.dispose();
});

it("counts a piece that is sent twice at once only once", async () => {
  const { upload } = await uploads.begin("a.gguf", 8);
  const piece = Uint8Array.of(1, 2, 3, 4);
  const sent = await Promise.allSettled([uploads.chunk(upload, 0, piece), uploads.chunk(upload, 0, piece)]);
  expect(sent).toMatchObject([{ value: 4 }, { reason: { code: "HANDLE_BUSY" } }]);
  await expect(uploads.finish(upload)).rejects.toMatchObject({ code: "INPUT_TRUNCATED" });
  await expect(uploads.chunk(upload, 4, piece)).resolves.toBe(8);
  await uploads.finish(upload);
  expect([...(await readFile(uploads.pathOf(upload).path))]).toEqual([1, 2, 3, 4, 1, 2, 3, 4]);
});

it("takes a folder file by file, and is the folder", async () => {
  const beside = [
    { name: "empty.txt", size: 0 },
    { name: "1_Pooling/config.json", size: 3 },
  ];
  const { upload } = await uploads.begin("config.json", 2, { folder: "My model", beside });
  // A piece is of one file.
  await expect(uploads.chunk(upload, 0, Uint8Array.of(1, 2, 3))).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
  await uploads.chunk(upload, 0, Uint8Array.of(1, 2));
  await expect(uploads.finish(upload)).rejects.toMatchObject({ code: "INPUT_TRUNCATED" });
  await uploads.chunk(upload, 2, Uint8Array.of(3, 4, 5));
  await uploads.finish(upload);
  const { path } = uploads.pathOf(upload);
  expect(basename(path)).toBe("My model");
  expect([...(await readFile(join(path, "config.json")))]).toEqual([1, 2]);
  expect([...(await readFile(join(path, "1_Pooling", "config.json")))]).toEqual([3, 4, 5]);
  expect(await readFile(join(path, "empty.txt"), "utf8")).toBe("");
});

it.each([
  ["../a.json", null],
  ["/a.json", null],
  ["a/b/c.json", null],
  ["a\\b.json", null],
  ["m.gguf", null],
  ["m.gguf/a.json", null],
  ["a.json", ".."],
])("refuses %j beside a file, in the folder %j", async (name, folder) => {
  const begun = uploads.begin("m.gguf", 1, { folder, beside: [{ name, size: 1 }] });
  await expect(begun).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
});

it("goes on after a write that takes only some of the bytes", async () => {
  const handle = await open(import.meta.filename);
  const prototype = Object.getPrototypeOf(handle) as Pick<FileHandle, "write">;
  await handle.close();
  const write = prototype.write as (bytes: Uint8Array, from: number, count: number, at: number) => Promise<unknown>;
  vi.spyOn(prototype, "write").mockImplementation(function (this: FileHandle, ...args: unknown[]) {
    const [bytes, from, count, at] = args as [Uint8Array, number, number, number];
    return write.call(this, bytes, from, Math.min(count, 3), at) as never;
  });
  const { upload } = await uploads.begin("a.gguf", 8);
  const bytes = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  await uploads.chunk(upload, 0, bytes);
  await uploads.finish(upload);
  expect([...(await readFile(uploads.pathOf(upload).path))]).toEqual([...bytes]);
});
