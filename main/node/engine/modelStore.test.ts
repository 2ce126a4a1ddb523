import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import type { ModelStore } from "./modelStore.ts";
import { createModelStore } from "./modelStore.ts";
import { createOffers } from "./offers.ts";
import { createRecents } from "./recents.ts";
import type { Uploads } from "./uploads.ts";
import { createUploads } from "./uploads.ts";

let folder: string;
let bytes: Uint8Array;
let uploads: Uploads;
let store: ModelStore;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rlx-model-store-"));
  await writeTinyGguf(join(folder, "tiny.gguf"), { layers: 1 });
  bytes = await readFile(join(folder, "tiny.gguf"));
  uploads = createUploads();
  store = createModelStore({ offers: createOffers(), recents: createRecents(folder), uploads });
});
afterAll(async () => {
  await store.dispose();
  await uploads.dispose();
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
  const [same, other] = [await send(bytes), await send(bytes.subarray(0, bytes.byteLength - 1))];
  await store.attach(model.id, { kind: "upload", upload: same });
  const refused = uploads.pathOf(other).path;
  await expect(store.attach(model.id, { kind: "upload", upload: other })).rejects.toThrow();
  await expect(stat(dirname(refused))).rejects.toMatchObject({ code: "ENOENT" });
  const { path } = uploads.pathOf(same);
  await store.close(model.id);
  await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
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
  await expect(uploads.begin("x".repeat(1000), 1)).rejects.toMatchObject({ code: "ENAMETOOLONG" });
});
