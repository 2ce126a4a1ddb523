/**
 * The library as its users get it: packed, installed without a registry into an empty folder, and every example of
 * docs/library.md run there as JavaScript and checked as strict TypeScript.
 */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repositoryRoot } from "./oracleProcess.ts";

const npm = process.platform === "win32" ? "npm.cmd" : "npm";
const page = readFileSync(join(repositoryRoot, "docs/library.md"), "utf8");
const examples = [...page.matchAll(/^## (.+?)$|^```js\n(.*?)^```$/gmsu)].reduce<[title: string, code: string][]>(
  (found, [, title, code]) =>
    title === undefined ? [...found.slice(0, -1), [found.at(-1)![0], code!]] : [...found, [title, ""]],
  [],
);
/** What an example says that it prints: the comment behind each `console.log`. */
const printed = (code: string): string[] =>
  [...code.matchAll(/console\.log\(.*\); \/\/ ?(.*)$/gmu)].map(([, text]) => text!.trim());

let folder: string;
let packed: { readonly filename: string; readonly files: readonly { readonly path: string }[] };
const at = (...path: string[]): string => join(folder, ...path);
const installed = (...path: string[]): string => at("node_modules/rlx-workbench", ...path);

function run(command: string, words: readonly string[], cwd = folder): string {
  const shell = process.platform === "win32" && command === npm;
  const { status, stdout, stderr } = spawnSync(command, words, { cwd, encoding: "utf8", shell });
  expect(status, `${command} ${words.join(" ")}\n${stdout}${stderr}`).toBe(0);
  return stdout;
}

const node = (code: string): string => {
  writeFileSync(at("program.mjs"), code);
  return run(process.execPath, ["program.mjs"]);
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "rlx-library-"));
  const answer = run(npm, ["pack", "--json", "--pack-destination", folder], repositoryRoot);
  [packed] = JSON.parse(answer.slice(answer.indexOf("[\n"))) as [typeof packed];
  writeFileSync(at("package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
  run(npm, ["install", "--offline", "--no-audit", "--no-fund", `./${packed.filename}`]);
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the packed library", () => {
  it("has what its users need, and no sources, tests or packages", () => {
    const places = new Set(packed.files.map(({ path }) => path.split("/").slice(0, 2).join("/")));
    // npm adds what `main` names, Electron's entry, where that was built.
    places.delete("out/main");
    expect([...places].toSorted()).toEqual([
      "LICENSE",
      "NOTICE",
      "README.md",
      "assets/models",
      "bin/rlx.mjs",
      "docs/library.md",
      "native/prebuilt",
      "out/cli",
      "out/library",
      "package.json",
    ]);
    expect(existsSync(at("node_modules/protobufjs"))).toBe(false);
  });

  it.each(examples)("runs the example: %s", (_, code) => {
    const expected = printed(code);
    expect(expected.length).toBeGreaterThan(0);
    expect(
      node(code)
        .trim()
        .split("\n")
        .map((line) => line.trim()),
    ).toEqual(expected);
  });

  it("has types that hold in strict TypeScript", () => {
    mkdirSync(at("types"));
    examples.forEach(([, code], i) => writeFileSync(at("types", `example${i}.ts`), code));
    writeFileSync(
      at("types/wrong.ts"),
      'import { grad } from "rlx-workbench";\n// @ts-expect-error a graph is needed\ngrad(1);\n',
    );
    mkdirSync(at("node_modules/@types"), { recursive: true });
    for (const name of ["@types/node", "undici-types"])
      symlinkSync(join(repositoryRoot, "node_modules", name), at("node_modules", name), "junction");
    const compilerOptions = { strict: true, noEmit: true, module: "nodenext", target: "es2022", types: ["node"] };
    writeFileSync(at("tsconfig.json"), JSON.stringify({ compilerOptions, include: ["types"] }));
    run(process.execPath, [join(repositoryRoot, "node_modules/typescript/bin/tsc"), "-p", folder]);
  });

  it("bundles its portable door for a browser", async () => {
    const { outputFiles, warnings } = await build({
      stdin: { contents: 'export * from "rlx-workbench";', resolveDir: folder },
      ...{ bundle: true, write: false, platform: "browser", format: "esm", logLevel: "silent" },
    });
    expect(warnings).toEqual([]);
    expect(outputFiles[0]!.text).not.toMatch(/["']node:|\brequire\(["']/u);
  });

  it("has the command line", () => {
    const { version } = JSON.parse(readFileSync(join(repositoryRoot, "package.json"), "utf8")) as { version: string };
    expect(run(process.execPath, [installed("bin/rlx.mjs"), "--version"]).trim()).toBe(version);
    const model = installed("assets/models/rlx-sample.gguf");
    expect(run(process.execPath, [installed("bin/rlx.mjs"), "inspect", model, "--json"])).toContain("qwen3");
  });

  it("says by code what to do where its engine is missing", () => {
    renameSync(installed("native"), installed("elsewhere"));
    const code = `
      import { buildGraph, evaluate } from "rlx-workbench";
      import { compileForCpu, devices } from "rlx-workbench/node";
      const graph = buildGraph("one", (g) => g.output("y", g.neg([g.input("x", "f32[1]")])));
      console.log(evaluate(graph, { x: [1] }).outputs.y.data[0], devices()[0].available);
      try { compileForCpu(graph); } catch ({ code, hint }) { console.log(code, hint); }`;
    const [first, second] = node(code).split("\n");
    expect(first).toBe("-1 false");
    expect(second).toMatch(/^ENV_NO_ADDON Build it .* RLX_ADDON/u);
  });
});
