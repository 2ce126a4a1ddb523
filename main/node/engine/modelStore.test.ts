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

it("what was attached goes with its model, also when it was another file", async () => {
  const model = await store.open({ kind: "path", path: join(folder, "tiny.gguf") });
  const [same, other] = [await send(bytes), await send(bytes.subarray(0, bytes.byteLength - 1))];
  await store.attach(model.id, { kind: "upload", upload: same });
  await expect(store.attach(model.id, { kind: "upload", upload: other })).rejects.toThrow();
  const { path } = uploads.pathOf(same);
  await store.close(model.id);
  await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
  for (const upload of [same, other])
    expect(() => uploads.pathOf(upload)).toThrow(expect.objectContaining({ code: "HANDLE_UNKNOWN" }) as Error);
});

it("an upload that cannot be begun leaves no folder", async () => {
  await expect(uploads.begin("x".repeat(1000), 1)).rejects.toMatchObject({ code: "ENAMETOOLONG" });
});
