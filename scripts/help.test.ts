/** `npx rlx … --help` builds nothing, whatever is missing or old. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..");
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "rlx-help-"));
  for (const part of ["bin", "scripts", "main", "package.json", "tsconfig.base.json"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const help = (...words: readonly string[]) =>
  spawnSync(process.execPath, [join(folder, "bin/rlx.mjs"), ...words], { encoding: "utf8" });

it("without packages it says how to begin", () => {
  const { stdout, status } = help("--help");
  expect(stdout).toContain("npm start");
  expect(status).toBe(0);
});

it.each([["--help"], ["serve", "--help"], ["help", "run"], ["compile", "-h"]])(
  "without a bundle: rlx %s %s",
  (...words) => {
    if (!existsSync(join(folder, "node_modules")))
      symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const { stdout, stderr, status } = help(...words);
    expect(stdout).toContain("Usage: rlx");
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(existsSync(join(folder, "out"))).toBe(false);
  },
);

it("with a bundle that is older than its sources it runs the bundle", () => {
  mkdirSync(join(folder, "out/cli"), { recursive: true });
  writeFileSync(join(folder, "out/cli/rlx.js"), 'console.log("the old bundle");');
  writeFileSync(join(folder, "main/newer.ts"), "");
  const { stdout, stderr } = help("serve", "--help");
  expect([stdout, stderr]).toEqual(["the old bundle\n", ""]);
});
