/** A header and weights of two files never meet: the file that is mapped is the one whose header was read. */
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openGguf } from "../formats/gguf/open.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { loadAddon } from "../node/native/addon.ts";
import { writeTinyGguf } from "../testing/tinyGguf.ts";
import { openDecoder } from "./devices/cpu.ts";

let folder: string;
let path: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rlx-changed-"));
  path = join(folder, "m.gguf");
  await writeTinyGguf(join(folder, "original.gguf"), { layers: 1 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Another file of the same header and size: its last weight differs. */
function otherWeights(): Uint8Array {
  const bytes = new Uint8Array(readFileSync(join(folder, "original.gguf")));
  const last = bytes.length - 1;
  bytes[last] = (bytes[last] ?? 0) ^ 1;
  return bytes;
}

it.each([
  [
    "renamed over",
    () => {
      writeFileSync(join(folder, "other"), otherWeights());
      renameSync(join(folder, "other"), path);
    },
  ],
  ["rewritten in place", () => writeFileSync(path, otherWeights())],
])("a file that is %s between its header and its first run is INPUT_CHANGED", async (_how, change) => {
  cpSync(join(folder, "original.gguf"), path);
  utimesSync(path, 1000, 1000);
  const file = await openGguf(await openFileSource(path));
  change();
  expect(() => openDecoder(loadAddon(), file, [path], { threads: 1 })).toThrow(
    expect.objectContaining({ code: "INPUT_CHANGED" }),
  );
  await file.close();
});

it("a file that stays runs, also when it was moved away and back", async () => {
  cpSync(join(folder, "original.gguf"), path);
  const file = await openGguf(await openFileSource(path));
  renameSync(path, join(folder, "away"));
  renameSync(join(folder, "away"), path);
  openDecoder(loadAddon(), file, [path], { threads: 1 }).dispose();
  await file.close();
});
