/** Types: every environment, what each must not know, and every option of the base that judges code. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { catches, environments, net, root, seed, type Files, type Outcome } from "./net.ts";

const types = (files: Files): Promise<Outcome> => net(files, "node", "scripts/typecheck.mjs");

const unchecked = "export const f = (x: number[]): number => x[0];\n";
/** By the option of tsconfig.base.json. */
const judging: Readonly<Record<string, readonly [text: string, says: string]>> = {
  strict: ["export const f = (x) => x;\n", "implicitly has an 'any' type"],
  noUncheckedIndexedAccess: [unchecked, "undefined"],
  exactOptionalPropertyTypes: ["export const x: { y?: number } = { y: undefined };\n", "exactOptionalPropertyTypes"],
  noImplicitOverride: [
    "export class A {\n  f(): void {}\n}\nexport class B extends A {\n  f(): void {}\n}\n",
    "'override'",
  ],
  noImplicitReturns: [
    "export function f(x: number): number | undefined {\n  if (x > 0) return 1;\n}\n",
    "Not all code paths",
  ],
  noFallthroughCasesInSwitch: [
    "export function f(x: number): number {\n  let y = 0;\n  switch (x) {\n    case 1:\n      y = 1;\n    default:\n      y = 2;\n  }\n  return y;\n}\n",
    "Fallthrough",
  ],
  noPropertyAccessFromIndexSignature: ["export const f = (x: Record<string, 1>) => x.y;\n", "index signature"],
  noUnusedLocals: ["export {};\nconst x = 1;\n", "never read"],
  noUnusedParameters: ["export function f(x: number): void {}\n", "never read"],
  verbatimModuleSyntax: ['import { B } from "./type.ts";\nexport const f = (x: B): B => x;\n', "verbatimModuleSyntax"],
  erasableSyntaxOnly: ["export enum E {\n  A,\n}\n", "erasableSyntaxOnly"],
  lib: ["export const x = Promise.withResolvers();\n", "withResolvers"],
  types: ["export const x = process.pid;\n", "'process'"],
};
/** Options that say how modules are found and what is written, or that another of ours implies. */
const settings = [
  "isolatedModules",
  "skipLibCheck",
  "noEmit",
  "target",
  "module",
  "moduleResolution",
  "allowImportingTsExtensions",
  "resolveJsonModule",
  "forceConsistentCasingInFileNames",
];

describe("types per environment", () => {
  it("passes clean code in every environment", async () => {
    const clean = {
      "some.config.ts": "export default process.pid;\n",
      "main/ir/a.ts": "export const text = new TextDecoder().decode(new Uint8Array([104]));\nperformance.now();\n",
      "main/ir/a.test.ts": 'import { platform } from "node:os";\nplatform();\n',
      "main/node/b.ts": 'import { platform } from "node:os";\nexport const name: string = platform();\n',
      "renderer/c.ts": "export const title: string = document.title;\n",
      "renderer/c.tsx": "export const C = () => <p>c</p>;\n",
      "app/shell/d.ts": "export const pid: number = process.pid;\n",
      "app/preload/e.ts": "export const title: string = document.title;\n",
      "e2e/f.spec.ts": "export const title: string = document.title + process.pid;\n",
      "bench/g.ts": "export const pid: number = process.pid;\n",
      "scripts/h.test.ts": 'import { root } from "./lib/process.mjs";\nexport const x: string = root;\n',
    };
    expect(await types(clean)).toEqual({ code: 0, output: "" });
  });

  it("has a seed for every option of the base that judges code", () => {
    const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.base.json"), "utf8")) as {
      compilerOptions: object;
    };
    const known = [...Object.keys(judging), ...settings];
    expect(Object.keys(compilerOptions).toSorted()).toEqual(known.toSorted());
  });

  it("fails when one of two environments does", async () => {
    const files = { "main/ir/a.ts": "export const x = 1;\n", "main/ir/a.test.ts": 'export const x: number = "1";\n' };
    expect(await types(files)).toMatchObject({ code: 1 });
  });

  const outcome = catches(
    types,
    [
      ...Object.entries(judging).map(([option, [text, says]]) => seed(option, `main/ir/${option}.ts`, text, says)),
      // An environment that does not extend the base would pass these: unlike `strict`, this option is off by default.
      // In tests, because only one of the engine's two environments sees them.
      ...environments.map((config) => {
        const name = config.includes("portable") ? "seed.ts" : "seed.test.ts";
        const path = config === "tsconfig.json" ? "seed.config.ts" : `${dirname(config)}/${name}`;
        return seed(`base under ${config}`, path, unchecked, "undefined");
      }),
      seed("Buffer in portable code", "main/formats/buffer.ts", "export const x = Buffer.alloc(1);\n", "'Buffer'"),
      seed("node: in portable code", "main/ir/fs.ts", 'export * from "node:fs";\n', "'node:fs'"),
      seed("window in portable code", "main/passes/window.ts", "export const x = window.name;\n", "'window'"),
      seed("fetch in portable code", "main/runtime/fetch.ts", 'export const x = fetch("/");\n', "'fetch'"),
      seed("the DOM in the engine", "main/node/dom.ts", "export const x = document.title;\n", "'document'"),
      seed("the DOM in the shell", "app/shell/dom.ts", "export const x = document.title;\n", "'document'"),
      seed("the DOM in benchmarks", "bench/dom.ts", "export const x = document.title;\n", "'document'"),
      seed("the DOM in scripts", "scripts/dom.ts", "export const x = document.title;\n", "'document'"),
      seed("the DOM in the drawing", "renderer/drawing/dom.ts", "export const x = document.title;\n", "'document'"),
      seed("Node in the renderer", "renderer/node.ts", "export const x = process.pid;\n", "'process'"),
      seed("a wrong type in a test", "main/ir/t.test.ts", 'export const x: number = "1";\n', "not assignable"),
      seed("a wrong type in a component", "renderer/a.tsx", "export const A = () => <p id={1} />;\n", "not assignable"),
      seed("a wrong type in a spec", "e2e/a.spec.ts", 'export const x: number = "1";\n', "not assignable"),
    ],
    { "main/ir/type.ts": "export interface B {\n  readonly y: number;\n}\n" },
  );
  // Each prints its faults under its own name, so a file that two of them read cannot stand for both.
  it.each(environments)("asks %s", async (config) => expect((await outcome()).output.split("\n")).toContain(config));
});
