/** Lint: every rule that the configuration names, every plugin, the options, and every folder. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { catches, net, root, seed, type Files, type Outcome, type Seed } from "./net.ts";

const lint = (files: Files): Promise<Outcome> => net(files, "oxlint", "--format=unix");

const work = "const work = async (): Promise<void> => { await Promise.resolve(); };\n";
const template = "typescript/restrict-template-expressions";
const hooks = 'import { useEffect, useState } from "react";\n';

/** By the configuration's name of the rule. Those of React lie in the renderer, where JSX is. */
const named: Readonly<Record<string, string>> = {
  eqeqeq: "export const f = (x: number, y: number): boolean => x == y;\n",
  "no-console": 'console.error("x");\n',
  "no-eval": 'export const x: unknown = eval("1");\n',
  "no-new-func": 'export const f = new Function("return 1");\n',
  "no-var": "export var x = 1;\n",
  "prefer-const": "let x = 1;\nexport const y = x;\n",
  "no-unused-vars": "export function f(x: number): void {}\n",

  "import/no-cycle": 'import { cycle } from "./cycle.ts";\nexport const a = (): number => cycle();\n',
  "import/no-default-export": "export default 1;\n",
  "import/no-self-import":
    'import { b } from "./import-no-self-import.ts";\nexport const a = b;\nexport const b = 1;\n',

  "typescript/await-thenable": "export const f = async (): Promise<void> => {\n  await 1;\n};\n",
  "typescript/consistent-type-imports": 'import { B } from "./type.ts";\nexport const f = (x: B): B => x;\n',
  "typescript/no-deprecated": "/** @deprecated */\nconst old = 1;\nexport const x = old;\n",
  "typescript/no-explicit-any": "export const f = (x: any): unknown => x;\n",
  "typescript/no-floating-promises": `${work}export function f(): void {\n  work();\n}\n`,
  "typescript/no-misused-promises": `${work}export const f = (): boolean => {\n  if (work()) return true;\n  return false;\n};\n`,
  "typescript/no-non-null-assertion": "export const f = (x: string | undefined): string => x!;\n",
  "typescript/no-unnecessary-type-assertion": "export const f = (x: string): string => x as string;\n",
  "typescript/no-unsafe-argument": 'export const x: number = Math.abs(JSON.parse("1"));\n',
  "typescript/no-unsafe-assignment": 'export const x: number = JSON.parse("1");\n',
  "typescript/no-unsafe-call": 'export const x: unknown = JSON.parse("{}")();\n',
  "typescript/no-unsafe-member-access": 'export const x: unknown = JSON.parse("{}").y;\n',
  "typescript/no-unsafe-return": 'export const f = (): number => JSON.parse("1");\n',
  "typescript/only-throw-error": 'export function f(): never {\n  throw "x";\n}\n',
  "typescript/prefer-promise-reject-errors": 'export const x = Promise.reject("x");\n',
  "typescript/require-array-sort-compare": "export const f = (x: number[]): number[] => x.sort();\n",
  "typescript/restrict-plus-operands": "export const f = (x: { y: 1 }, y: string): string => x + y;\n",
  [template]: "export const f = (x: object): string => `${x}`;\n",
  "typescript/return-await": `${work}export async function f(): Promise<void> {\n  try {\n    return work();\n  } catch {\n    return;\n  }\n}\n`,
  "typescript/switch-exhaustiveness-check":
    'export function f(x: "a" | "b"): number {\n  switch (x) {\n    case "a":\n      return 1;\n  }\n  return 0;\n}\n',
  "typescript/use-unknown-in-catch-callback-variable": `${work}export const x = work().catch((error) => String(error));\n`,

  "react/exhaustive-deps": `${hooks}export function A({ x }: { x: number }): null {\n  const [, set] = useState(0);\n  useEffect(() => set(x), []);\n  return null;\n}\n`,
  "react/rules-of-hooks": `${hooks}export function A({ x }: { x: number }): null {\n  if (x > 0) useState(0);\n  useEffect(() => undefined, []);\n  return null;\n}\n`,
  "react/jsx-key": "export const A = () => <ul>{[1, 2].map((x) => <li>{x}</li>)}</ul>;\n",
  "react/no-danger": 'export const A = () => <p dangerouslySetInnerHTML={{ __html: "x" }} />;\n',
};

/** Of every plugin a rule that no line names: the whole category is on. */
const unnamed: Readonly<Record<string, string>> = {
  "eslint/no-debugger": "debugger;\n",
  "typescript/no-array-delete": "export function f(x: number[]): void {\n  delete x[0];\n}\n",
  "unicorn/no-useless-length-check":
    "export const f = (x: number[]): boolean => x.length === 0 || x.every((y) => y > 0);\n",
  "oxc/double-comparisons": "export const f = (x: number, y: number): boolean => x === y || x < y;\n",
  "import/namespace": 'import * as all from "./cycle.ts";\nexport const x: unknown = all.nothing;\n',
  "react/jsx-no-duplicate-props": 'export const A = () => <p id="x" id="y" />;\n',
};

const nameOf = (rule: string): string => rule.split("/").at(-1)!;
function rule(name: string, text: string): Seed {
  const file = name.replace("/", "-");
  const path = name.startsWith("react/") ? `renderer/${file}.tsx` : `main/ir/${file}.ts`;
  return seed(name, path, text, `(${nameOf(name)})]`);
}

const awaited = "export const f = async (): Promise<void> => {\n  await 1;\n};\n";
/** Folders, the options of rules, and what the exceptions for some files must not except: what, where, which rule. */
const others: readonly (readonly [what: string, path: string, rule: string, text: string])[] = [
  ...["main/node", "renderer", "app", "app/preload", "e2e", "bench", "scripts"].map(
    (folder) => [`types in ${folder}`, `${folder}/await.ts`, "await-thenable", awaited] as const,
  ),
  ...["scripts", "proto", "bin", "native/tests"].map(
    (folder) => [`JavaScript in ${folder}`, `${folder}/var.mjs`, "no-var", named["no-var"]!] as const,
  ),

  ["== null", "main/ir/null.ts", "eqeqeq", "export const f = (x: number | null): boolean => x == null;\n"],
  ["null in text", "main/ir/t0.ts", nameOf(template), "export const f = (x: string | null): string => `${x}`;\n"],
  ["any in text", "main/ir/t1.ts", nameOf(template), 'export const f = (): string => `${JSON.parse("1")}`;\n'],

  ["printing in the engine", "main/node/print.ts", "no-console", named["no-console"]!],
  ["printing in the window", "renderer/print.ts", "no-console", named["no-console"]!],
  ["printing in the shell", "app/print.ts", "no-console", named["no-console"]!],
  ["a default in a spec", "e2e/default.spec.ts", "no-default-export", "export default 1;\n"],
  ["a default in a script", "scripts/default.mjs", "no-default-export", "export default 1;\n"],
  ...["no-explicit-any", "no-floating-promises", "no-unsafe-argument", "no-unsafe-call", "no-unsafe-return"].map(
    (name) => [`${name} in a test`, `main/ir/${name}.test.ts`, name, named[`typescript/${name}`]!] as const,
  ),
  ["an unused name in a script", "scripts/unused.mjs", "no-unused-vars", "export function f(x) {}\n"],
  ["a lost promise in a script", "scripts/lost.mjs", "no-floating-promises", "Promise.resolve();\n"],
];

/** What the configuration says, without its comments. */
const configuration = JSON.parse(readFileSync(join(root, ".oxlintrc.json"), "utf8").replace(/^\s*\/\/.*$/gm, "")) as {
  readonly plugins: string[];
  readonly rules: Record<string, string | [string, ...unknown[]]>;
};

describe("lint", () => {
  it("passes clean code, type-only cycles, what options allow, and a default export of a configuration", async () => {
    const clean = {
      "main/ir/a.ts": 'import type { B } from "./b.ts";\nexport const a = (_unused: string): B => 1;\n',
      "main/ir/b.ts": 'import { a } from "./a.ts";\nexport type B = number;\nexport const b = (): B => a("");\n',
      "main/ir/c.ts": "export const c = (x: number, y: boolean): string => `${x}${y}`;\n",
      "main/ir/c.test.ts": 'console.log(JSON.parse("{}").x, [1].at(0)!);\n',
      "main/ir/d.ts":
        'export function d(x: "a" | "b"): number {\n  switch (x) {\n    case "a":\n      return 1;\n    default:\n      return 0;\n  }\n}\n',
      "scripts/e.mjs": 'console.log(JSON.parse("{}").x);\n',
      "some.config.ts": "export default {};\n",
    };
    expect(await lint(clean)).toMatchObject({ code: 0 });
  });

  it("has a seed for every rule that the configuration names, and for every plugin", () => {
    const on = Object.entries(configuration.rules).filter(([, value]) => value !== "off" && value[0] !== "off");
    expect(Object.keys(named).toSorted()).toEqual(on.map(([name]) => name).toSorted());
    const plugins = Object.keys(unnamed).map((name) => name.replace(/\/.*/, ""));
    expect(plugins.toSorted()).toEqual(["eslint", ...configuration.plugins].toSorted());
  });

  const outcome = catches(
    lint,
    [
      ...Object.entries({ ...named, ...unnamed }).map(([name, text]) => rule(name, text)),
      ...others.map(([what, path, name, text]) => seed(what, path, text, `(${name})]`)),
    ],
    {
      "main/ir/type.ts": "export interface B {\n  readonly y: number;\n}\n",
      "main/ir/cycle.ts": 'import { a } from "./import-no-cycle.ts";\nexport const cycle = (): number => a();\n',
    },
  );
  it("only warns of nothing", async () => expect((await outcome()).output).not.toContain("[Warning/"));
});
