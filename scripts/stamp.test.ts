// Stamps decide what is not done again, so they must notice every change and every missing output.
import { mkdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { forget, isFresh, isNewest, keyOf, markClean, markFresh, wasClean } from "./lib/stamp.mjs";

const root = resolve(import.meta.dirname, "..");
const folder = join(root, ".cache", `stamp-test-${process.pid}`);
const source = relative(root, join(folder, "source"));
const output = relative(root, join(folder, "output"));
const name = `test-${process.pid}`;

beforeAll(async () => {
  await mkdir(join(root, source), { recursive: true });
  await writeFile(join(root, source, "a.ts"), "1");
  await writeFile(join(root, output), "made");
});
afterAll(async () => {
  forget(name);
  await rm(folder, { recursive: true });
});

it("changes its key with contents, names and words, and not with tests", async () => {
  const keys = [keyOf([source]), keyOf([source], ["linux"])];
  await writeFile(join(root, source, "a.test.ts"), "2");
  expect(keyOf([source])).toBe(keys[0]);
  await writeFile(join(root, source, "b.ts"), "1");
  keys.push(keyOf([source]));
  await writeFile(join(root, source, "a.ts"), "2");
  keys.push(keyOf([source]));
  expect(new Set(keys).size).toBe(4);
});

it("is fresh only for the same key, with every output there", () => {
  const key = keyOf([source]);
  expect(isFresh(name, key, [output])).toBe(false);
  markFresh(name, key);
  expect(isFresh(name, key, [output])).toBe(true);
  expect(isFresh(name, `${key}x`, [output])).toBe(false);
  expect(isFresh(name, key, [output, `${output}-missing`])).toBe(false);
  forget(name);
  expect(isFresh(name, key, [output])).toBe(false);
});

it("tells by the times whether a source is newer than an output, tests aside", async () => {
  const at = (path: string, seconds: number): Promise<void> => utimes(join(root, path), seconds, seconds);
  for (const name of ["a.ts", "b.ts", "a.test.ts"]) await at(join(source, name), 1000);
  await at(output, 1001);
  expect(isNewest(output, [source])).toBe(true);
  expect(isNewest(join(source, "missing"), [source])).toBe(false);
  await at(join(source, "a.test.ts"), 1002);
  expect(isNewest(output, [source])).toBe(true);
  // As editors leave them for a file that is open.
  await symlink("nobody@nowhere", join(root, source, ".#a.ts"));
  expect(isNewest(output, [source])).toBe(true);
  await at(join(source, "b.ts"), 1002);
  expect(isNewest(output, [source])).toBe(false);
});

it("remembers what was clean by its key alone, in the folder for caches", () => {
  const before = process.env["XDG_CACHE_HOME"];
  process.env["XDG_CACHE_HOME"] = folder;
  try {
    const key = keyOf([source]);
    expect(wasClean("toy", key)).toBe(false);
    markClean("toy", key);
    expect([wasClean("toy", key), wasClean("toy", `${key}x`), wasClean("other", key)]).toEqual([true, false, false]);
  } finally {
    if (before === undefined) delete process.env["XDG_CACHE_HOME"];
    else process.env["XDG_CACHE_HOME"] = before;
  }
});
