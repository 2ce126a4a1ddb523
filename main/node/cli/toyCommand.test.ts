// "A command of the command line: 1 + 1" (docs/extending.md): one file, and its entry in main.ts. A toy command is put in this way
// into a copy of main.ts, and is then a whole command: help, options, answers in both forms, errors with codes.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CommandLine } from "../../testing/rlx.ts";
import { runHere } from "../../testing/rlx.ts";

const here = import.meta.dirname;
const MAIN = readFileSync(join(here, "main.ts"), "utf8");

/** The one file: main/node/cli/heads.ts. */
const FILE = `
import { openModel } from "./client.ts";
export async function heads(command, choice) {
  const { title } = await openModel(command, choice);
  command.output.value({ title });
  command.output.line(\`It is \${title}.\`);
  return 0;
}
`;

/** Its entry in main.ts. */
const ENTRY = `
add("heads", "what the model is called", "rlx heads model.gguf")
  .option("--loud", "louder")
  .action(run(async () => (await import("./heads.ts")).heads));
`;

describe("a command of one file and one entry", () => {
  const folder = mkdtempSync(join(tmpdir(), "rlx-toy-command-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Imports as they are from this folder; what lies in the other one is found there. */
  const moved = (source: string): string =>
    source
      .replaceAll(/(from|import\() ?"(\.[^"]*)"/g, (_, how: string, path: string) =>
        path === "./heads.ts" ? `${how} "${path}"` : `${how} "${join(here, path)}"`,
      )
      .replaceAll(`from "commander"`, `from "${import.meta.resolve("commander")}"`);

  beforeAll(() => {
    const end = MAIN.indexOf("const commandNamed");
    writeFileSync(join(folder, "main.ts"), moved(MAIN.slice(0, end) + ENTRY + MAIN.slice(end)));
    writeFileSync(join(folder, "heads.ts"), moved(FILE));
  });

  const heads = async (...words: string[]) => {
    const main = (await import(/* @vite-ignore */ join(folder, "main.ts"))) as CommandLine;
    const { code, out, err } = await runHere(main, ["heads", ...words], { home: join(folder, "home") });
    return { code, out, err };
  };

  test("answers people and programs", { timeout: 60_000 }, async () => {
    expect(await heads("--sample")).toEqual({ code: 0, out: "It is RLX Sample.\n", err: "" });
    const { code, out } = await heads("--sample", "--json");
    expect({ code, said: JSON.parse(out) as unknown }).toEqual({ code: 0, said: { title: "RLX Sample" } });
  });

  test("has help, and errors with codes", { timeout: 60_000 }, async () => {
    expect(await heads("--help")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/--loud[^]*\$ rlx heads model/) as string,
    });
    expect(await heads("/no/such.gguf")).toMatchObject({
      code: 1,
      err: expect.stringContaining("INPUT_NOT_FOUND") as string,
    });
    expect(await heads("--soft")).toMatchObject({
      code: 2,
      err: expect.stringContaining("`rlx heads --help`") as string,
    });
  });
});

test("no file but main.ts says which commands there are", () => {
  const others = readdirSync(here).filter(
    (name) => name.endsWith(".ts") && !name.includes(".test.") && name !== "main.ts",
  );
  expect(others.length).toBeGreaterThan(20);
  expect(others.filter((name) => /\.(command|action)\(/.test(readFileSync(join(here, name), "utf8")))).toEqual([]);
  // Each file of a command is loaded by one entry or more, when it is called.
  const loaded = [...MAIN.matchAll(/import\("\.\/(\w+\.ts)"\)\)\.\w/g)].map(([, name = ""]) => name);
  expect(others).toEqual(expect.arrayContaining(loaded));
  expect(new Set(loaded).size).toBeGreaterThan(8);
});
