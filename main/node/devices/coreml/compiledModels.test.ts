// The cache of compiled models: found again, bounded in size and age, never what is in use, cleared whole, and leftovers of
// processes that died are removed.
import { randomUUID } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { writeTinyPackage } from "../../../testing/tinyPackage.ts";
import { CompiledModels, exportKey } from "./compiledModels.ts";
import type { FoundModel } from "./modelFolder.ts";
import { superfluous, trimModels } from "./modelFolder.ts";

const DAY = 86_400_000;
const BOUNDS = { bytes: 2500, ageMs: 30 * DAY, graceMs: 3_600_000 };
let home: string;
beforeEach(async () => void (home = await mkdtemp(join(tmpdir(), "rlx-compiled-"))));
afterEach(() => rm(home, { recursive: true, force: true }));

const folder = (): string => join(home, "coreml");
const hashOf = (digit: string): string => digit.repeat(32);

/** A model of 1000 bytes that an index names, last used `days` ago. */
async function stored(digit: string, days: number): Promise<string> {
  const path = join(folder(), `${hashOf(digit)}.mlmodelc`);
  await mkdir(join(path, "weights"), { recursive: true });
  await writeFile(join(path, "weights/weight.bin"), new Uint8Array(900));
  await writeFile(join(path, "coremldata.bin"), new Uint8Array(100));
  const key = exportKey(digit);
  const index = join(folder(), `${key}.json`);
  await writeFile(index, JSON.stringify({ content: hashOf(digit), functions: [], userDefined: {} }));
  const then = new Date(Date.now() - days * DAY);
  await utimes(path, then, then);
  await utimes(index, then, then);
  return key;
}
const left = async (): Promise<readonly string[]> =>
  (await readdir(folder())).filter((name) => name.endsWith(".mlmodelc")).map((name) => name.slice(0, 1));

async function make(models: CompiledModels, fact: string): Promise<string> {
  const made = await models.make(exportKey(fact), writeTinyPackage, async (_, model) => {
    await mkdir(model.path, { recursive: true });
    await writeFile(join(model.path, "coremldata.bin"), new Uint8Array(1000));
  });
  return made.content;
}

describe("compiled models", () => {
  it("are found again, and a find is a use", async () => {
    const key = await stored("a", 20);
    const models = new CompiledModels(home, BOUNDS);
    expect(await models.find(key)).toMatchObject({
      content: hashOf("a"),
      path: join(folder(), `${hashOf("a")}.mlmodelc`),
    });
    expect(await models.find(exportKey("another"))).toBeUndefined();
    // By another process, which finds it used a moment ago although it is over the limit.
    await stored("b", 10);
    await stored("c", 5);
    await make(new CompiledModels(home, { ...BOUNDS, bytes: 0 }), "new");
    expect((await left()).includes("a")).toBe(true);
    expect((await left()).includes("b")).toBe(false);
  });

  it.each([
    ["no functions", { content: hashOf("a"), userDefined: {} }],
    ["functions that are numbers", { content: hashOf("a"), functions: [1], userDefined: {} }],
    ["no facts of the file", { content: hashOf("a"), functions: [] }],
    ["facts that are numbers", { content: hashOf("a"), functions: [], userDefined: { a: 1 } }],
    ["another folder", { content: `../coreml/${hashOf("a")}`, functions: [], userDefined: {} }],
    ["nothing", null],
    ["a text", "content"],
  ])("are not found by a damaged index: %s", async (_, index) => {
    const key = await stored("a", 1);
    const models = new CompiledModels(home, BOUNDS);
    expect(await models.find(key)).toBeDefined();
    await writeFile(join(folder(), `${key}.json`), JSON.stringify(index));
    expect(await models.find(key)).toBeUndefined();
    await writeFile(join(folder(), `${key}.json`), '{"content":');
    expect(await models.find(key)).toBeUndefined();
    // And the folder is still counted.
    expect(await models.facts()).toMatchObject({ entries: 1 });
  });

  it("go when they were not used for longest and all together are too large", async () => {
    const [a, b] = [await stored("a", 3), await stored("b", 9)];
    await stored("c", 6);
    const models = new CompiledModels(home, BOUNDS);
    const content = await make(models, "new");
    // 4000 bytes were there: the two that were used least recently made room.
    expect([...(await left())].sort()).toEqual(["a", content.slice(0, 1)].sort());
    expect(await models.find(b)).toBeUndefined();
    expect(await models.find(a)).toBeDefined();
    expect((await readdir(folder())).filter((name) => name.endsWith(".json"))).toHaveLength(2);
    expect(await models.facts()).toMatchObject({ entries: 2, bytes: 2000, limit: 2500 });
  });

  it("go when they are old, however much room there is", async () => {
    await stored("a", 31);
    await stored("b", 29);
    await make(new CompiledModels(home, { ...BOUNDS, bytes: 1e9 }), "new");
    expect((await left()).includes("a")).toBe(false);
    expect((await left()).includes("b")).toBe(true);
  });

  it("go when they are old although nothing new is made", async () => {
    await stored("a", 31);
    const key = await stored("b", 40);
    expect(await new CompiledModels(home, BOUNDS).find(key)).toBeDefined();
    expect(await left()).toEqual(["b"]);
  });

  it("stay while this process uses them", async () => {
    const key = await stored("a", 60);
    const models = new CompiledModels(home, { bytes: 0, ageMs: 0, graceMs: 0 });
    expect(await models.find(key)).toBeDefined();
    await stored("b", 60);
    await make(models, "new");
    expect((await left()).includes("a")).toBe(true);
    expect((await left()).includes("b")).toBe(false);
  });

  it("stay when this process opens them while it is looked for what may go", async () => {
    await stored("a", 60);
    await stored("b", 60);
    const used = new Set<string>();
    const trimmed = trimModels(folder(), BOUNDS, used);
    used.add(hashOf("a"));
    await trimmed;
    expect(await left()).toEqual(["a"]);
  });

  it("are removed whole when asked, with what dead processes left", async () => {
    await stored("a", 1);
    await stored("b", 0);
    await mkdir(join(folder(), "dead.mlpackage/Data"), { recursive: true });
    await writeFile(join(folder(), "dead.partial"), "");
    const models = new CompiledModels(home, BOUNDS);
    expect(await models.clear()).toEqual({ folder: folder(), entries: 2, bytes: 2000, limit: 2500 });
    expect(await readdir(folder())).toEqual([]);
    expect(await models.clear()).toMatchObject({ entries: 0, bytes: 0 });
  });

  describe("that another process has", () => {
    // This test's parent lives as long as it does; no process has a number beyond every system's limit.
    const [living, dead] = [process.ppid, 2 ** 30];

    it("stay when all are removed, with what it is making, and go once it has ended", async () => {
      const key = await stored("a", 1);
      await stored("b", 1);
      await stored("c", 1);
      const making = `${"0".repeat(16)}.${living}.${randomUUID()}.mlpackage`;
      const compiling = `${hashOf("d")}.mlmodelc.${living}.partial`;
      for (const name of [making, compiling, making.replace(String(living), String(dead))])
        await mkdir(join(folder(), name));
      await writeFile(join(folder(), `${hashOf("a")}.${living}.use`), "");
      await writeFile(join(folder(), `${hashOf("b")}.${dead}.use`), "");
      const models = new CompiledModels(home, BOUNDS);
      expect(await models.clear()).toMatchObject({ entries: 2, bytes: 2000 });
      expect(await models.usedByOthers()).toBe(1);
      expect((await readdir(folder())).sort()).toEqual(
        [making, compiling, `${hashOf("a")}.mlmodelc`, `${hashOf("a")}.${living}.use`, `${key}.json`].sort(),
      );
      await rm(join(folder(), `${hashOf("a")}.${living}.use`));
      expect(await models.clear()).toMatchObject({ entries: 1 });
    });

    it("are not trimmed, however long ago they were opened", async () => {
      await stored("a", 60);
      await stored("b", 60);
      await writeFile(join(folder(), `${hashOf("a")}.${living}.use`), "");
      await make(new CompiledModels(home, BOUNDS), "new");
      expect((await left()).includes("a")).toBe(true);
      expect((await left()).includes("b")).toBe(false);
    });

    it("stay when they are opened while it is looked for what may go", async () => {
      await stored("a", 60);
      await stored("b", 60);
      await writeFile(join(folder(), `${hashOf("b")}.${dead}.use`), "");
      const mark = join(folder(), `${hashOf("a")}.${living}.use`);
      // Asked when the names in the folder are known already: the other process comes too late for these.
      const asked = vi.spyOn(process, "kill").mockImplementationOnce(() => {
        writeFileSync(mark, "");
        throw new Error("no such process");
      });
      await trimModels(folder(), BOUNDS, new Set());
      expect(asked).toHaveBeenCalledWith(dead, 0);
      asked.mockRestore();
      expect(await left()).toEqual(["a"]);
      expect((await readdir(folder())).filter((name) => /going|gone/.test(name))).toEqual([]);
    });

    it("is about to remove are waited for, and are gone or stay", async () => {
      const going = (content: string, pid: number): string =>
        join(folder(), `${hashOf(content)}.${pid}.${randomUUID()}.going`);
      const removed = { key: await stored("a", 1), mark: going("a", living) };
      const spared = { key: await stored("b", 1), mark: going("b", living) };
      const abandoned = { key: await stored("c", 1), mark: going("c", dead) };
      for (const { mark } of [removed, spared, abandoned]) await writeFile(mark, "");
      const models = new CompiledModels(home, BOUNDS);
      const waiting = [models.find(removed.key), models.find(spared.key)];
      expect(await models.find(abandoned.key)).toMatchObject({ content: hashOf("c") });
      await rm(join(folder(), `${hashOf("a")}.mlmodelc`), { recursive: true });
      await Promise.all([rm(removed.mark), rm(spared.mark)]);
      expect(await Promise.all(waiting)).toEqual([undefined, expect.objectContaining({ content: hashOf("b") })]);
    });

    it("are ignored when the mark is older than the boot, or names no process", async () => {
      await stored("a", 60);
      await stored("b", 60);
      const old = join(folder(), `${hashOf("a")}.${living}.use`);
      await writeFile(old, "");
      await utimes(old, 1000, 1000);
      await writeFile(join(folder(), `${hashOf("b")}.0.use`), "");
      const models = new CompiledModels(home, BOUNDS);
      expect(await models.usedByOthers()).toBe(0);
      expect(await models.clear()).toMatchObject({ entries: 2 });
    });

    it("are marked by each process that finds or makes one", async () => {
      const models = new CompiledModels(home, BOUNDS);
      await models.find(await stored("a", 1));
      const made = await make(models, "new");
      const marks = (await readdir(folder())).filter((name) => name.endsWith(".use"));
      expect(marks.sort()).toEqual([hashOf("a"), made].map((content) => `${content}.${process.pid}.use`).sort());
    });
  });

  it("do not drag along what dead processes left", async () => {
    await mkdir(join(folder(), "dead.mlpackage"), { recursive: true });
    await mkdir(join(folder(), "living.mlpackage"), { recursive: true });
    const then = new Date(Date.now() - 2 * 3_600_000);
    await utimes(join(folder(), "dead.mlpackage"), then, then);
    await make(new CompiledModels(home, BOUNDS), "new");
    expect(existsSync(join(folder(), "dead.mlpackage"))).toBe(false);
    expect(existsSync(join(folder(), "living.mlpackage"))).toBe(true);
  });

  it("are counted as nothing where there is no folder", async () => {
    expect(await new CompiledModels(home, BOUNDS).facts()).toMatchObject({ entries: 0, bytes: 0 });
  });
});

describe("superfluous", () => {
  const model = (content: string, usedMs: number): FoundModel => ({
    content,
    path: "",
    bytes: 10,
    usedMs,
    indexes: [],
  });
  const bounds = { bytes: 20, ageMs: 100, graceMs: 10 };
  const chosen = (models: readonly FoundModel[], now: number, kept: readonly string[] = []): string =>
    superfluous(models, bounds, now, new Set(kept))
      .map(({ content }) => content)
      .join("");

  it("takes the oldest first, and no more than needed", () => {
    const models = [model("c", 30), model("a", 10), model("b", 20)];
    expect(chosen(models, 60)).toBe("a");
    expect(chosen(models, 60, ["a"])).toBe("b");
    expect(chosen(models, 121)).toBe("ab");
    expect(chosen(models, 10)).toBe("");
  });
});
