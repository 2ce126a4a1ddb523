// Every net is shown to catch: violations are written beside a copy of the configuration, each in its own file, and
// the net must name every one of them; clean code must pass. The copy lies outside the repository (inside, .gitignore
// would hide it) and sees the same packages.
import { execFile } from "node:child_process";
import { copyFile, cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..");
const execute = promisify(execFile);
const copies: string[] = [];

const copied = [
  "package.json",
  "package-lock.json",
  ".oxlintrc.json",
  ".prettierrc",
  "tsconfig.base.json",
  "main/tsconfig.json",
  "main/tsconfig.portable.json",
  "main/globals.d.ts",
  "renderer/tsconfig.json",
  "app/tsconfig.json",
  "app/preload/tsconfig.json",
  "scripts/walls.mjs",
  "scripts/typecheck.mjs",
  "scripts/lockCheck.mjs",
];

interface Outcome {
  readonly code: number;
  readonly output: string;
}
type Files = { readonly [path: string]: string };

/** Runs a net over the given files in a fresh copy. */
async function net(files: Files, program: string, ...args: readonly string[]): Promise<Outcome> {
  const copy = await realpath(await mkdtemp(join(tmpdir(), "rlx-nets-")));
  copies.push(copy);
  for (const file of copied) {
    await mkdir(dirname(join(copy, file)), { recursive: true });
    await copyFile(join(root, file), join(copy, file));
  }
  await cp(join(root, "scripts/lib"), join(copy, "scripts/lib"), { recursive: true });
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(copy, path)), { recursive: true });
    await writeFile(join(copy, path), text);
  }
  const path = program === "node" ? process.execPath : join(root, "node_modules/.bin", program);
  try {
    const { stdout, stderr } = await execute(path, args, { cwd: copy });
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const failure = error as { readonly code: number; readonly stdout: string; readonly stderr: string };
    return { code: failure.code, output: failure.stdout + failure.stderr };
  }
}

afterAll(() => Promise.all(copies.map((copy) => rm(copy, { recursive: true, force: true }))));

interface Violation {
  readonly name: string;
  readonly path: string;
  readonly text: string;
  /** What the net must say on a line that names the file. */
  readonly says: string;
}

/** One run over all violations; every one must be named, on its own line. */
function catches(run: (files: Files) => Promise<Outcome>, violations: readonly Violation[], besides: Files = {}): void {
  const outcome = Promise.resolve().then(() =>
    run({ ...besides, ...Object.fromEntries(violations.map(({ path, text }) => [path, text])) }),
  );
  it("fails", async () => expect((await outcome).code).toBe(1));
  it.each(violations)("catches $name", async ({ path, says }) => {
    const lines = (await outcome).output.split("\n").filter((line) => line.includes(path));
    expect(lines.filter((line) => line.includes(says))).not.toEqual([]);
  });
}

const violation = (name: string, path: string, text: string, says: string): Violation => ({ name, path, text, says });

describe("types per environment", () => {
  const types = (files: Files): Promise<Outcome> => net(files, "node", "scripts/typecheck.mjs");
  it("passes clean code in every environment", async () => {
    const clean = {
      "main/ir/a.ts": "export const text = new TextDecoder().decode(new Uint8Array([104]));\nperformance.now();\n",
      "main/ir/a.test.ts": 'import { platform } from "node:os";\nplatform();\n',
      "main/node/b.ts": 'import { platform } from "node:os";\nexport const name: string = platform();\n',
      "renderer/c.ts": "export const title: string = document.title;\n",
      "app/shell/d.ts": "export const pid: number = process.pid;\n",
      "app/preload/e.ts": "export const title: string = document.title;\n",
    };
    expect(await types(clean)).toEqual({ code: 0, output: "" });
  });
  catches(types, [
    violation("process in portable code", "main/ir/process.ts", "export const x = process.pid;\n", "'process'"),
    violation("Buffer in portable code", "main/formats/buffer.ts", "export const x = Buffer.alloc(1);\n", "'Buffer'"),
    violation("node: in portable code", "main/ir/fs.ts", 'export * from "node:fs";\n', "'node:fs'"),
    violation("window in portable code", "main/passes/window.ts", "export const x = window.name;\n", "'window'"),
    violation("fetch in portable code", "main/runtime/fetch.ts", 'export const x = fetch("/");\n', "'fetch'"),
    violation("the DOM in the shell", "app/shell/dom.ts", "export const x = document.title;\n", "'document'"),
    violation("Node in the renderer", "renderer/node.ts", "export const x = process.pid;\n", "'process'"),
    violation(
      "an index without a check",
      "main/ir/i.ts",
      "export const f = (x: number[]): number => x[0];\n",
      "undefined",
    ),
    violation("an enum", "main/ir/enum.ts", "export enum E {\n  A,\n}\n", "erasableSyntaxOnly"),
    violation(
      "a dotted index",
      "main/ir/dot.ts",
      "export const f = (x: Record<string, 1>) => x.y;\n",
      "index signature",
    ),
    violation("what Node 20 lacks", "main/ir/n.ts", "export const x = Promise.withResolvers();\n", "withResolvers"),
    violation("a wrong type in a test", "main/ir/t.test.ts", 'export const x: number = "1";\n', "not assignable"),
  ]);
});

describe("lint", () => {
  const lint = (files: Files): Promise<Outcome> => net(files, "oxlint", "--format=unix");
  const work = "const work = async (): Promise<void> => { await Promise.resolve(); };\n";
  const rule = (name: string, text: string): Violation => violation(name, `main/ir/${name}.ts`, text, name);

  it("passes clean code, type-only cycles, and a default export of a configuration", async () => {
    const clean = {
      "main/ir/a.ts": 'import type { B } from "./b.ts";\nexport const a = (): B => 1;\n',
      "main/ir/b.ts": 'import { a } from "./a.ts";\nexport type B = number;\nexport const b = (): number => a();\n',
      "some.config.ts": "export default {};\n",
    };
    expect((await lint(clean)).code).toBe(0);
  });
  catches(
    lint,
    [
      rule("no-floating-promises", `${work}export function f(): void {\n  work();\n}\n`),
      rule(
        "no-misused-promises",
        `${work}export const f = (): boolean => {\n  if (work()) return true;\n  return false;\n};\n`,
      ),
      rule("await-thenable", "export const f = async (): Promise<void> => {\n  await 1;\n};\n"),
      rule(
        "switch-exhaustiveness-check",
        'export function f(x: "a" | "b"): number {\n  switch (x) {\n    case "a":\n      return 1;\n  }\n  return 0;\n}\n',
      ),
      rule("no-explicit-any", "export const f = (x: any): unknown => x;\n"),
      rule("no-non-null-assertion", "export const f = (x: string | undefined): string => x!;\n"),
      rule("consistent-type-imports", 'import { B } from "./type.ts";\nexport const f = (x: B): B => x;\n'),
      rule("no-default-export", "export default 1;\n"),
      rule("no-unsafe-assignment", 'export const x: number = JSON.parse("1");\n'),
      rule("no-unsafe-argument", 'export const x: number = Math.abs(JSON.parse("1"));\n'),
      rule("no-unsafe-call", 'export const x: unknown = JSON.parse("{}")();\n'),
      rule("no-unsafe-member-access", 'export const x: unknown = JSON.parse("{}").y;\n'),
      rule("no-unsafe-return", 'export const f = (): number => JSON.parse("1");\n'),
      rule("restrict-template-expressions", "export const f = (x: object): string => `${x}`;\n"),
      rule("require-array-sort-compare", "export const f = (x: number[]): number[] => x.sort();\n"),
      rule("no-console", 'console.error("x");\n'),
      rule("no-new-func", 'export const f = new Function("return 1");\n'),
      rule("no-cycle", 'import { cycle } from "./cycle.ts";\nexport const a = (): number => cycle();\n'),
    ],
    {
      "main/ir/type.ts": "export interface B {\n  readonly y: number;\n}\n",
      "main/ir/cycle.ts": 'import { a } from "./no-cycle.ts";\nexport const cycle = (): number => a();\n',
    },
  );
});

describe("walls", () => {
  const walls = (files: Files): Promise<Outcome> => net(files, "node", "scripts/walls.mjs");
  it("passes the arrows that are drawn", async () => {
    const clean = {
      "main/diagnostics/errors.ts": "export const e = 1;\n",
      "main/ir/graph.ts": 'export { e } from "../diagnostics/errors.ts";\n',
      "main/backends/cpu/emitter.ts": 'import { e } from "../../ir/graph.ts";\nexport type Emit = typeof e;\n',
      "main/ops/unary/exp.ts": 'import type { Emit } from "../../backends/cpu/emitter.ts";\nexport type E = Emit;\n',
      "main/ops/unary/exp.test.ts": 'import "node:fs";\nimport "vitest";\nimport "../../runtime/session.ts";\n',
      "main/runtime/session.ts": 'export * from "../compiler/compile.ts";\n',
      "main/compiler/compile.ts": 'export * from "../backends/cpu/emitter.ts";\n',
      "main/node/cli.ts": 'export * from "node:fs/promises";\nexport * from "../runtime/session.ts";\n',
      "renderer/features/graph/a.ts": 'import { b } from "../../ui/b.ts";\nexport { b };\n',
      "renderer/ui/b.ts": "export const b = 1;\n",
      "app/shell/index.ts": 'export { app } from "electron";\n',
      "main/ir/comment.ts": '// import { x } from "../ops/x.ts";\nexport const text = "import(\'../ops/x.ts\')";\n',
    };
    expect(await walls(clean)).toEqual({ code: 0, output: "" });
  });
  const onlyApp = "only app/ may";
  catches(walls, [
    violation("an arrow upwards", "main/ir/up.ts", 'import "../ops/x.ts";\n', "must not import main/ops/x.ts"),
    violation(
      "a type upwards",
      "main/ir/type.ts",
      'import type { X } from "../ops/x.ts";\n',
      "must not import main/ops/x.ts",
    ),
    violation(
      "an inline type",
      "main/ir/inline.ts",
      'export type X = import("../ops/x.ts").X;\n',
      "must not import main/ops",
    ),
    violation(
      "a re-export",
      "main/ir/again.ts",
      'export * from "../runtime/x.ts";\n',
      "must not import main/runtime/x.ts",
    ),
    violation(
      "a lazy import",
      "main/ir/lazy.ts",
      'export const x = await import("../node/x.ts");\n',
      "must not import main/node",
    ),
    violation("a detour", "main/ir/detour.ts", 'import "../ir/../ops/x.ts";\n', "must not import main/ops/x.ts"),
    violation("backend to backend", "main/backends/mlx/a.ts", 'import "../cpu/x.ts";\n', "do not see each other"),
    violation("a backend's value in an op", "main/ops/a.ts", 'import "../backends/cpu/x.ts";\n', "only types"),
    violation("feature to feature", "renderer/features/a/a.ts", 'import "../b/x.ts";\n', "do not see each other"),
    violation(
      "the engine in the renderer",
      "renderer/engine.ts",
      'import "../main/ir/x.ts";\n',
      "must not import main/ir/x.ts",
    ),
    violation("node: in portable code", "main/formats/a.ts", 'import "node:fs";\n', "no Node here"),
    violation("node: in the renderer", "renderer/fs.ts", 'import "node:fs";\n', "no Node here"),
    violation("electron outside app", "main/node/a.ts", 'import "electron";\n', onlyApp),
    violation("electron's types outside app", "renderer/e.ts", 'import type { App } from "electron";\n', onlyApp),
    violation("React in the engine", "main/contract/a.ts", 'import "react";\n', "the package react"),
    violation(
      "test helpers in a product",
      "main/ir/helper.ts",
      'import "../testing/x.ts";\n',
      "must not import main/testing",
    ),
    violation("a way out of the repository", "main/ir/out.ts", 'import "../../../x.ts";\n', "outside the repository"),
    violation("what does not parse", "main/ir/syntax.ts", "export const = ;\n", "does not parse"),
  ]);

  it("knows every folder", async () => {
    const { code, output } = await walls({ "main/newcomer/a.ts": "export {};\n", "extras/a.ts": "export {};\n" });
    expect(output).toContain("main/newcomer: a new folder needs a rule");
    expect(output).toContain("extras: a new folder needs a rule");
    expect(code).toBe(1);
  });
});

describe("lock file", () => {
  const check = (files: Files): Promise<Outcome> => net(files, "node", "scripts/lockCheck.mjs");
  it("passes as it is, and fails when a platform is missing or a host leaked in", async () => {
    expect(await check({})).toEqual({ code: 0, output: "" });
    const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
      packages: Record<string, object>;
    };
    const broken = (packages: Record<string, object>): Files => ({
      "package-lock.json": JSON.stringify({ ...lock, packages }),
    });

    const { "node_modules/@oxlint/binding-darwin-arm64": _mac, ...withoutMac } = lock.packages;
    const missing = await check(broken(withoutMac));
    expect(missing.output).toMatch(/lacks its optional package.*darwin-arm64/);
    expect(missing.code).toBe(1);

    const named = { ...lock.packages["node_modules/zod"], resolved: "https://example.org/zod" };
    const leaked = await check(broken({ ...lock.packages, "node_modules/zod": named }));
    expect(leaked.output).toContain("names the host it came from");
    expect(leaked.code).toBe(1);
  });
});

describe("format", () => {
  it("catches what prettier would write differently", async () => {
    const files = { "main/ir/a.ts": "export const x   = 1\n", "main/ir/b.ts": "export const x = 1;\n" };
    const { code, output } = await net(files, "prettier", "--check", "main/ir");
    expect(output).toContain("main/ir/a.ts");
    expect(output).not.toContain("main/ir/b.ts");
    expect(code).toBe(1);
  });
});
