// The compile cache on disk: what is kept, what is evicted first, sharing, and what is not opened.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cached } from "../../compiler/compileCache.ts";
import { cacheFolder, dataFolder } from "../files/folders.ts";
import { diskStore } from "./diskStore.ts";

const keyOf = (n: number): string => n.toString(16).padStart(64, "0");
const filled = (size: number, value: number): Uint8Array => new Uint8Array(size).fill(value);

let folder = "";
const place = (): string => join(folder, "cache");
const nameOf = (key: string): string => join(place(), `${key}.plan`);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rlx-store-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("where it is", () => {
  const none = { cache: null, home: null };
  it("follows the setting, then the home, then the platform", () => {
    expect(cacheFolder({ cache: "off", home: "/h" }, {}, "linux")).toBeUndefined();
    expect(cacheFolder({ cache: "/c", home: "/h" }, {}, "linux")).toBe("/c");
    expect(cacheFolder({ cache: null, home: "/h" }, {}, "linux")).toBe(join("/h", "cache"));
    expect(cacheFolder(none, {}, "darwin")).toBe(join(homedir(), "Library", "Caches", "RLX Workbench"));
    expect(cacheFolder(none, { XDG_CACHE_HOME: "/x" }, "linux")).toBe(join("/x", "rlx-workbench"));
    for (const environment of [{}, { XDG_CACHE_HOME: "not/absolute" }])
      expect(cacheFolder(none, environment, "linux")).toBe(join(homedir(), ".cache", "rlx-workbench"));
    for (const path of [undefined, "", "relative"])
      expect(dataFolder(null, { XDG_DATA_HOME: path }, "linux")).toBe(
        join(homedir(), ".local", "share", "rlx-workbench"),
      );
    expect(dataFolder(null, { XDG_DATA_HOME: "/x" }, "linux")).toBe(join("/x", "rlx-workbench"));
  });
});

describe("entries", () => {
  it("are given back, replaced, counted and cleared; other files stay", async () => {
    const store = diskStore(place(), 1000);
    expect(await store.get(keyOf(1))).toBeUndefined();
    expect(await store.facts()).toEqual({ folder: place(), entries: 0, bytes: 0, limit: 1000 });
    expect((await store.clear()).entries).toBe(0);
    await store.put(keyOf(1), filled(10, 1));
    await store.put(keyOf(1), filled(20, 2));
    expect(new Uint8Array((await store.get(keyOf(1)))!)).toEqual(filled(20, 2));
    writeFileSync(join(place(), "mine.txt"), "not yours");
    expect(await store.facts()).toMatchObject({ entries: 1, bytes: 20 });
    expect(await store.clear()).toMatchObject({ entries: 1, bytes: 20 });
    expect(readdirSync(place())).toEqual(["mine.txt"]);
    expect(await store.get(keyOf(1))).toBeUndefined();
  });

  it("go when the folder is over its limit, those unused for longest first", async () => {
    const store = diskStore(place(), 100);
    for (const n of [1, 2, 3]) {
      await store.put(keyOf(n), filled(30, n));
      utimesSync(nameOf(keyOf(n)), 1000 + n, 1000 + n);
    }
    // Reading is using: 2 is now the oldest.
    expect(await store.get(keyOf(1))).toBeDefined();
    await store.put(keyOf(4), filled(30, 4));
    const left = [];
    for (const n of [1, 2, 3, 4]) if ((await store.get(keyOf(n))) !== undefined) left.push(n);
    expect(left).toEqual([1, 3, 4]);
    await store.put(keyOf(5), filled(101, 5));
    expect(await store.get(keyOf(5))).toBeUndefined();
    expect((await store.facts()).entries).toBe(3);
  });

  it("that were never finished go after an hour, not before", async () => {
    const store = diskStore(place(), 100);
    mkdirSync(place());
    const unfinished = (n: number): string => `${keyOf(n)}.0123456789ab.partial`;
    for (const n of [1, 2]) writeFileSync(join(place(), unfinished(n)), "half");
    utimesSync(join(place(), unfinished(1)), 1000, 1000);
    await store.put(keyOf(3), filled(3, 3));
    expect(readdirSync(place()).sort()).toEqual([unfinished(2), `${keyOf(3)}.plan`].sort());
  });

  it("are plain files of a sane size: a folder, a link, a pipe and a giant are misses", async () => {
    const store = diskStore(place(), 100);
    mkdirSync(nameOf(keyOf(1)), { recursive: true });
    writeFileSync(join(folder, "elsewhere"), filled(10, 2));
    symlinkSync(join(folder, "elsewhere"), nameOf(keyOf(2)));
    execFileSync("mkfifo", [nameOf(keyOf(3))]);
    writeFileSync(nameOf(keyOf(4)), filled(101, 4));
    for (const n of [1, 2, 3, 4]) expect(await store.get(keyOf(n))).toBeUndefined();
    await store.put(keyOf(2), filled(5, 5));
    expect(await store.get(keyOf(2))).toHaveLength(5);
  });

  it("may be as large as all that is kept, and not a byte larger", async () => {
    const store = diskStore(place(), 100);
    await store.put(keyOf(1), filled(100, 1));
    expect(await store.get(keyOf(1))).toHaveLength(100);
    await store.put(keyOf(2), filled(1, 2));
    expect(await store.get(keyOf(1))).toBeUndefined();
    expect(await store.get(keyOf(2))).toHaveLength(1);
  });

  it("stays when it is the newest, whatever its file says about its time", async () => {
    const store = diskStore(place(), 100);
    await store.put(keyOf(1), filled(100, 1));
    const late = new Date(Date.now() + 60_000);
    utimesSync(nameOf(keyOf(1)), late, late);
    await store.put(keyOf(2), filled(1, 2));
    expect(await store.get(keyOf(1))).toBeUndefined();
    expect(await store.get(keyOf(2))).toHaveLength(1);
  });

  it("have hashes for names: anything else is our own fault", async () => {
    const store = diskStore(place());
    for (const key of ["", "..", "../../x", "A".repeat(64), `${keyOf(1)}0`])
      await expect(store.get(key)).rejects.toMatchObject({ code: "BUG_INVARIANT" });
  });

  it("are not kept where nothing can be written, and nothing breaks", async () => {
    writeFileSync(place(), "a file where the folder should be");
    const recipe = { read: () => undefined, make: () => ({ value: 1, content: filled(1, 1) }) };
    for (let i = 0; i < 2; i++)
      expect(await cached(diskStore(place()), keyOf(1), recipe)).toEqual({ value: 1, how: "made" });
    expect((await diskStore(place()).facts()).entries).toBe(0);
  });
});

it("many writers and readers of one key see whole entries only, and leave one file", async () => {
  const stores = Array.from({ length: 4 }, () => diskStore(place(), 1 << 22));
  const size = 300_000;
  const writing = stores.flatMap((store, s) =>
    Array.from({ length: 8 }, (_, i) => store.put(keyOf(7), filled(size, 16 * s + i))),
  );
  const reading = stores.flatMap((store) => Array.from({ length: 20 }, () => store.get(keyOf(7))));
  await Promise.all(writing);
  const last = await stores[0]!.get(keyOf(7));
  expect(last).toBeDefined();
  for (const seen of [...(await Promise.all(reading)), last]) {
    // Nothing was there yet.
    if (seen === undefined) continue;
    expect(seen).toHaveLength(size);
    expect(seen.every((byte) => byte === seen[0])).toBe(true);
  }
  expect(readdirSync(place())).toEqual([`${keyOf(7)}.plan`]);
});
