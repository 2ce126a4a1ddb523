import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { diskStore } from "../cache/diskStore.ts";
import { makeFolder } from "./makeFolder.ts";

let home: string;
beforeAll(async () => void (home = await mkdtemp(join(tmpdir(), "rlx-folder-"))));
afterAll(() => rm(home, { recursive: true, force: true }));

it("makes what is missing, also when several do at once, and leaves what is there", async () => {
  const path = join(home, "a/b/c");
  await Promise.all([makeFolder(path, 0o700), makeFolder(path, 0o700), makeFolder(join(home, "a/b/d"), 0o700)]);
  await makeFolder(path);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
  expect((await stat(join(home, "a/b/d"))).isDirectory()).toBe(true);
});

it("says when a file stands in the way", async () => {
  await writeFile(join(home, "file"), "");
  await expect(makeFolder(join(home, "file"))).rejects.toMatchObject({ code: "EEXIST" });
  await expect(makeFolder(join(home, "file/inside"))).rejects.toMatchObject({ code: "EEXIST" });
});

it.skipIf(process.platform !== "linux")("ends where nothing can be made (only Linux has /proc)", async () => {
  await expect(makeFolder("/proc/rlx/cache")).rejects.toMatchObject({ code: "ENOENT" });
  await expect(diskStore("/proc/rlx").put("a".repeat(64), new Uint8Array(1))).rejects.toMatchObject({ code: "ENOENT" });
});
