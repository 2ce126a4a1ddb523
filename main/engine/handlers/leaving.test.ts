/** What a window opened goes with it: models, half-sent files, half-read headers. */
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createClient } from "../../contract/client.ts";
import { contract } from "../../contract/contract.ts";
import { createPortPair } from "../../contract/port.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";

let harness: Harness;
let path: string;
beforeAll(async () => {
  harness = await engineHarness();
  path = join(harness.folder, "m.gguf");
  await writeTinyGguf(path, { layers: 1 });
});
afterAll(() => harness.done());

/** Another window of the same engine. */
function anotherWindow() {
  const [near, far] = createPortPair();
  harness.engine.connect(far);
  return createClient(contract, near);
}

const unknown = expect.objectContaining({ code: "HANDLE_UNKNOWN" }) as Error;
/** Handles of this process on the model's file. */
const handles = (): number =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path;
    } catch {
      return false;
    }
  }).length;

it("closes the models of a window that left, and no others", async () => {
  const staying = await harness.client.call("model.open", { source: { kind: "path", path } });
  const window = anotherWindow();
  const left = await window.call("model.open", { source: { kind: "path", path } });
  const overview = (model: string) => harness.client.call("model.overview", { model, context: null });
  expect((await overview(left.model)).model).toBe(left.model);
  window.close();
  await expect.poll(() => overview(left.model).then(() => "open", String)).toMatch(/there is no open model/);
  await expect(overview(left.model)).rejects.toThrow(unknown);
  expect((await overview(staying.model)).model).toBe(staying.model);
  await harness.client.call("model.close", { model: staying.model });
});

it("drops what a window that left has half sent or half read", async () => {
  const window = anotherWindow();
  const { upload } = await window.call("upload.begin", { name: "a.gguf", size: 100 });
  const need = await window.call("header.begin", { name: "a.gguf", size: 1000 });
  window.close();
  const piece = { offset: 0, bytes: new Uint8Array(1) };
  await expect
    .poll(() => harness.client.call("upload.chunk", { upload, ...piece }).then(() => "", String))
    .toMatch(/there is no upload/);
  await expect
    .poll(() => harness.client.call("header.feed", { header: need.header, ...piece }).then(() => "", String))
    .toMatch(/these bytes were not asked for/);
});

it.skipIf(process.platform !== "linux")("leaves no handles of a hundred windows (only Linux has /proc)", async () => {
  for (let i = 0; i < 100; i++) {
    const window = anotherWindow();
    await window.call("model.open", { source: { kind: "path", path } });
    window.close();
  }
  await expect.poll(handles).toBe(0);
});
