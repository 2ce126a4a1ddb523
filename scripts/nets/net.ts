/**
 * Every net is shown to catch: seeded violations are written beside a copy of the configuration, each in its own file,
 * and the net must name every one of them; clean code must pass. The copy lies outside the repository (inside,
 * .gitignore would hide it) and sees the same packages.
 */
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";

export const root = resolve(import.meta.dirname, "../..");
const execute = promisify(execFile);
const copies: string[] = [];

const skipped = /^(\..*|node_modules|out|release|build.*)$/;

/** The paths of all files of a name in the repository, without what is installed or built. */
export function filesNamed(name: RegExp, folder = ""): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder ? `${folder}/${entry.name}` : entry.name;
    if (entry.isDirectory()) return skipped.test(entry.name) ? [] : filesNamed(name, path);
    return name.test(entry.name) ? [path] : [];
  });
}

/** `tsconfig.base.json` is what the others extend. */
export const environments = filesNamed(/^tsconfig(?!\.base).*\.json$/);
export const lockFiles = filesNamed(/^package-lock\.json$/);

const copied = [
  "package.json",
  ".oxlintrc.json",
  ".prettierrc",
  ".prettierignore",
  ".clang-format",
  ".clang-tidy",
  "knip.json",
  "tsconfig.base.json",
  "main/globals.d.ts",
  ...filesNamed(/\.mjs$/, "scripts"),
  ...environments,
  ...lockFiles,
];

export interface Outcome {
  readonly code: number;
  readonly output: string;
}
export type Files = { readonly [path: string]: string };

/** Runs a net over the given files in a fresh copy. */
export async function net(files: Files, program: string, ...args: readonly string[]): Promise<Outcome> {
  const copy = await realpath(await mkdtemp(join(tmpdir(), "rlx-nets-")));
  copies.push(copy);
  for (const file of copied) {
    await mkdir(dirname(join(copy, file)), { recursive: true });
    await copyFile(join(root, file), join(copy, file));
  }
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(copy, path)), { recursive: true });
    await writeFile(join(copy, path), text);
  }
  const path = program === "node" ? process.execPath : join(root, "node_modules/.bin", program);
  try {
    const { stdout, stderr } = await execute(path, args, { cwd: copy, env: { ...process.env, NO_COLOR: "1" } });
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const failure = error as { readonly code: number; readonly stdout: string; readonly stderr: string };
    return { code: failure.code, output: failure.stdout + failure.stderr };
  }
}

afterAll(() => Promise.all(copies.map((copy) => rm(copy, { recursive: true, force: true }))));

export interface Seed {
  readonly name: string;
  readonly path: string;
  readonly text: string;
  /** Expected text of the line that begins with the file's path. */
  readonly says: string;
}

export const seed = (name: string, path: string, text: string, says: string): Seed => ({ name, path, text, says });

/** One run over all seeds; every one must be named, on its own line. Gives the outcome for more questions. */
export function catches(
  run: (files: Files) => Promise<Outcome>,
  seeds: readonly Seed[],
  besides: Files = {},
): () => Promise<Outcome> {
  const files = { ...besides, ...Object.fromEntries(seeds.map(({ path, text }) => [path, text])) };
  let outcome: Promise<Outcome> | undefined;
  const ask = (): Promise<Outcome> => (outcome ??= run(files));
  it("fails", async () => expect((await ask()).code).toBe(1));
  it("has every seed in a file of its own", () => {
    expect(Object.keys(files)).toHaveLength(seeds.length + Object.keys(besides).length);
  });
  it.each(seeds)("catches $name", async ({ path, says }) => {
    const lines = (await ask()).output.split("\n").filter((line) => line.startsWith(path));
    expect(lines).toContainEqual(expect.stringContaining(says));
  });
  return ask;
}
