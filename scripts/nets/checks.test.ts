/** That `npm run check` and `npm test` ask every net: one violation of each in one copy, and each must fail. */
import { expect, it } from "vitest";
import { allStaticChecks, staticChecks } from "../check.mjs";
import { findClangFormat, findClangTidy, findCmake } from "../lib/environment.mjs";
import type { Outcome } from "./net.ts";
import { lockFiles, net, seed } from "./net.ts";

/** Without their tools these checks say so and pass, except in CI. */
const hasFormatter = findClangFormat() !== undefined;
const hasTidy = findClangTidy() !== undefined && findCmake() !== undefined;
const lacking = [...(hasFormatter ? [] : ["format of C++"]), ...(hasTidy ? [] : ["clang-tidy"])];
const checks = allStaticChecks.filter(({ name }) => !lacking.includes(name));

const seeds = [
  seed("format", "main/ir/format.ts", "export const x   = 1;\n", "[warn] main/ir/format.ts"),
  ...(hasFormatter ? [seed("format of C++", "native/src/core/form.cpp", "int  x;\n", "native/src/core/form.cpp")] : []),
  ...(hasTidy
    ? [
        seed(
          "clang-tidy",
          "native/src/core/tidy.cpp",
          "int f(int* x) {\n  try {\n    return *x;\n  } catch (...) {\n  }\n  return 0;\n}\n",
          "native/src/core/tidy.cpp:4:5: error: empty catch",
        ),
      ]
    : []),
  seed("lint", "main/ir/lint.ts", "export var x = 1;\n", "main/ir/lint.ts:1:8: Unexpected var"),
  seed(
    "walls",
    "main/ir/wall.ts",
    'export * from "../ops/x.ts";\n',
    "main/ir/wall.ts:1: must not import main/ops/x.ts",
  ),
  seed(
    "walls of C++",
    "native/src/mlx/wall.cpp",
    '#include "../cpu/x.h"\n',
    "native/src/mlx/wall.cpp:1: must not include cpu/x.h",
  ),
  seed("types", "main/ir/type.ts", 'export const x: number = "1";\n', "main/ir/type.ts(1,14): error TS2322"),
  seed("unused", "main/ir/unused.ts", "export const x = 1;\n", "main/ir/unused.ts"),
  ...lockFiles.map((file) =>
    seed(file, file, '{ "packages": { "node_modules/x": {} } }', `${file}: node_modules/x has no integrity hash`),
  ),
];
const files = {
  "native/CMakeLists.txt":
    "cmake_minimum_required(VERSION 3.20)\nproject(x CXX)\nadd_library(x STATIC src/core/tidy.cpp)\n",
  ...Object.fromEntries(seeds.map(({ path, text }) => [path, text])),
};

const ask = `import { allStaticChecks, runStaticChecks } from "./scripts/check.mjs";
process.exitCode = (await runStaticChecks(allStaticChecks)).length;`;
let asked: Promise<Outcome> | undefined;
/** One run for all tests, begun by the first that asks. */
const outcome = (): Promise<Outcome> => (asked ??= net(files, "node", "--input-type=module", "--eval", ask));

it("fails every check", async () => expect((await outcome()).code).toBe(checks.length));

it.each(checks)("fails $name", async ({ name }) => {
  expect((await outcome()).output).toContain(`FAILED ${name} (`);
});

it.each(seeds)("says what is wrong with $name", async ({ says }) => {
  const said = (await outcome()).output.split("\n").filter((line) => line.startsWith(says));
  expect(said).not.toEqual([]);
});

it.each(["lint", "walls", "walls of C++"])("fails scripts/lint.mjs for %s alone", async (wanted) => {
  const { path, text, says } = seeds.find(({ name }) => name === wanted)!;
  const { code, output } = await net({ [path]: text }, "node", "scripts/lint.mjs");
  expect(output.split("\n")[0]).toContain(says);
  expect(code).toBe(1);
});

it("leaves clang-tidy and unused code to npm test", () => {
  const quick = staticChecks.map(({ name }) => name);
  const rest = allStaticChecks.map(({ name }) => name).filter((name) => !quick.includes(name));
  expect(rest).toEqual(["clang-tidy", "unused files, exports and packages (npx knip)"]);
});
