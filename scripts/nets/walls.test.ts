/** Walls: every row of the table is shown to refuse what lies above or beside it, and every way to import is read. */
import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { walls as table } from "../walls.mjs";
import { catches, net, root, seed, type Files, type Outcome } from "./net.ts";

const walls = (files: Files): Promise<Outcome> => net(files, "node", "scripts/walls.mjs");

/** From the bottom up, as docs/architecture.md draws it. Said here anew, so that a row that was loosened is noticed. */
const layers = [
  "main/diagnostics",
  "main/ir",
  "main/ops",
  "main/passes",
  "main/compiler",
  "main/runtime",
  "main/training",
  "main/engine",
  "main/node",
  "main/testing",
];
const above = (layer: string): string[] => layers.slice(layers.indexOf(layer) + 1);

const top = ["renderer", "app", "e2e", "bench", "scripts"];
const portable = ["node:fs", "electron", "react", "commander"];
const outer = [...above("main/ir"), "main/contract", ...top, ...portable];
/** What commands and server reach by calls only. */
const behindTheContract = [
  "main/compiler",
  "main/passes",
  "main/runtime",
  "main/backends/cpu",
  "main/engine/handlers",
  "main/engine/models",
  "main/node/cache",
  "main/node/devices",
  "main/node/machine",
  "main/node/native",
];
/** What a folder must not see, not even as a type: folders, npm packages and Node. Every row of the walls has a line. */
const closed: Readonly<Record<string, readonly string[]>> = {
  "main/diagnostics": [...above("main/diagnostics"), "main/formats", "main/backends/cpu", ...top, ...portable, "zod"],
  "main/quant": ["main/diagnostics", ...above("main/diagnostics"), "main/formats", ...top, ...portable, "zod"],
  "main/ir": [...outer, "main/formats", "main/backends/cpu", "zod"],
  "main/ops": [...above("main/ops"), "main/autodiff", "main/formats", "main/models", ...top, ...portable, "zod"],
  "main/passes": [...above("main/passes"), "main/autodiff", "main/formats", "main/backends/cpu", ...top, ...portable],
  "main/autodiff": [...above("main/passes"), "main/passes", "main/formats", "main/backends/cpu", ...top, ...portable],
  "main/formats": [...outer, "main/tokenizer", "main/chatTemplate", "main/models", "main/backends/cpu", "zod"],
  "main/tokenizer": [
    "main/ir",
    ...outer,
    "main/chatTemplate",
    "main/models",
    "main/backends/cpu",
    "@huggingface/jinja",
    "zod",
  ],
  "main/chatTemplate": ["main/ir", ...outer, "main/formats", "main/models", "main/backends/cpu", "zod"],
  "main/replies": ["main/ir", ...outer, "main/tokenizer", "main/formats", "main/models", "main/backends/cpu", "zod"],
  "main/grammar": ["main/ir", ...outer, "main/tokenizer", "main/formats", "main/models", "main/backends/cpu", "zod"],
  "main/gallery": ["main/ir", ...outer, "main/tokenizer", "main/formats", "main/models", "main/backends/cpu", "zod"],
  "main/compare": [...outer, "main/tokenizer", "main/models", "main/backends/cpu", "zod"],
  "main/statistics": [...outer, "main/tokenizer", "main/models", "main/backends/cpu", "zod"],
  "main/quantize": [...outer, "main/tokenizer", "main/models", "main/backends/cpu", "zod"],
  "main/models": [...above("main/ops"), "main/tokenizer", "main/backends/cpu", ...top, ...portable, "zod"],
  "main/backends": [...outer, "main/formats", "main/models", "zod"],
  "main/compiler": [...above("main/compiler"), "main/tokenizer", "main/contract", ...top, ...portable, "zod"],
  "main/runtime": [
    ...above("main/runtime"),
    "main/contract",
    "main/backends/cpu",
    "main/backends/mlx",
    ...top,
    ...portable,
    "zod",
  ],
  "main/runtime/devices/cpu.ts": [...above("main/runtime"), "main/contract", "main/backends/mlx", ...top, ...portable],
  "main/runtime/devices/mlx.ts": [...above("main/runtime"), "main/contract", "main/backends/cpu", ...top, ...portable],
  "main/contract": ["main/ir", ...above("main/ir"), "main/formats", ...top, ...portable],
  "main/engine": [...above("main/engine"), ...top, ...portable, "vitest"],
  "main/training": [
    ...above("main/training"),
    "main/contract",
    "main/library",
    "main/backends/cpu",
    ...top,
    ...portable,
    "zod",
  ],
  "main/library": [...above("main/training"), "main/contract", ...top, ...portable, "zod"],
  "main/node/library": [
    "main/contract",
    "main/engine/handlers",
    "main/node/cache",
    "main/node/cli",
    "main/node/devices",
    "main/node/serve",
    "main/testing",
    ...top,
    "electron",
    "react",
    "commander",
    "zod",
  ],
  "main/node": [...above("main/node"), ...top, "electron", "react", "vitest"],
  "main/node/cli": [...behindTheContract, "main/testing", ...top, "electron", "react", "ws"],
  "main/node/serve": [...behindTheContract, "main/node/cli", "main/testing", ...top, "electron", "react", "commander"],
  "main/node/api": [
    ...behindTheContract,
    "main/node/cli",
    "main/testing",
    ...top,
    "electron",
    "react",
    "commander",
    "ws",
  ],
  "main/testing": [...top, "electron", "react", "commander"],
  renderer: ["main/ir", ...above("main/ir"), "main/formats", "app", "e2e", "scripts", "node:fs", "electron", "ws"],
  "renderer/features": ["main/ir", ...above("main/ir"), "app", "e2e", "scripts", "node:fs", "electron", "ws"],
  "renderer/drawing": ["renderer/features/graph", "renderer/shell", "main/ir", "main/node", "app", "node:fs", "react"],
  "renderer/ui": [
    "renderer/engine",
    "renderer/features/graph",
    "main/diagnostics",
    "main/node",
    "app",
    "node:fs",
    "ws",
  ],
  app: ["main/ir", "main/runtime", "main/testing", "renderer", "e2e", "scripts", "react", "ws"],
  "app/preload": ["main/node", "main/diagnostics", "renderer", "scripts", "node:fs", "zod", "react"],
  e2e: ["main/ir", "main/runtime", "renderer", "app", "bench", "electron", "react"],
  "bench/peers": ["main/node", "main/runtime", "scripts", "bench/support", "esbuild"],
  bench: ["renderer", "app", "e2e", "electron", "node-llama-cpp"],
  scripts: ["main/node", "main/testing", "renderer", "app", "e2e", "bench", "electron", "prettier"],
  proto: ["main/node", "main/backends/coreml", "renderer", "app", "vite"],
  bin: ["main/node", "main/runtime", "renderer", "app", "commander"],
  native: ["main/engine", "main/contract", "renderer", "app", "scripts", "node-addon-api"],
};

/** `main/ir/x.ts` as seen from the folder of `path`; a package and Node as they are. */
function specifier(path: string, target: string): string {
  if (!["main", ...top].includes(target.split("/")[0]!)) return target;
  return `${posix.relative(posix.dirname(path), target).replace(/^(?!\.)/, "./")}/x.ts`;
}
const rows = Object.entries(closed).map(([folder, targets]) => {
  const path = folder.endsWith(".ts") ? folder : `${folder}/row.ts`;
  const text = targets.map((target) => `import type {} from "${specifier(path, target)}";\n`).join("");
  return { folder, path, text, targets };
});

describe("walls", () => {
  it("passes the arrows that are drawn", async () => {
    const clean = {
      "main/diagnostics/errors.ts": "export const e = 1;\n",
      "main/ir/graph.ts": 'export { e } from "../diagnostics/errors.ts";\n',
      "main/backends/cpu/emitter.ts": 'import { e } from "../../ir/graph.ts";\nexport type Emit = typeof e;\n',
      "main/ops/unary/exp.ts": 'import type { Emit } from "../../backends/cpu/emitter.ts";\nexport type E = Emit;\n',
      "main/ops/unary/exp.test.ts": 'import "node:fs";\nimport "vitest";\nimport "../../runtime/session.ts";\n',
      "main/runtime/session.ts": 'export * from "../compiler/compile.ts";\n',
      "main/runtime/devices/cpu.ts":
        'export type * from "../../backends/cpu/emitter.ts";\nexport * from "../session.ts";\n',
      "main/compiler/compile.ts": 'export * from "../backends/cpu/emitter.ts";\n',
      "main/node/cli.ts": 'export * from "node:fs/promises";\nexport * from "../runtime/session.ts";\n',
      "renderer/features/graph/a.ts": 'import { b } from "../../ui/b.ts";\nexport { b };\n',
      "renderer/ui/b.ts": 'import type { C } from "../../main/contract/c.ts";\nexport const b: C = 1;\n',
      "app/shell/index.ts": 'export { app } from "electron";\n',
      "main/contract/c.ts": "export type C = 1;\n",
      "main/runtime/devices/mlx.ts":
        'export const device = { id: "mlx", isCpu: (device: string) => device === "cpu" };\n',
      "main/engine/a.test.ts": 'export const device = "mlx";\n',
      "main/engine/place.ts":
        'import { compileFor } from "../compiler/compile.ts";\nexport const route = { backend: "coreml", made: compileFor("mlx") };\n' +
        'export const places = (name: string, side: string) => name === "cpu" || side === "coreml" || ["ane", "cpu"];\n',
      "main/ir/comment.ts": '// import { x } from "../ops/x.ts";\nexport const text = "import(\'../ops/x.ts\')";\n',
    };
    expect(await walls(clean)).toEqual({ code: 0, output: "" });
  });

  it("has a line here for every row, and no row for a folder that is gone", () => {
    expect(Object.keys(closed).toSorted()).toEqual(table.map(({ folder }) => folder).toSorted());
    expect(table.map(({ folder }) => folder).filter((folder) => !existsSync(join(root, folder)))).toEqual([]);
  });

  const noOps = "must not import main/ops/x.ts";
  const noCpu = "must not import main/backends/cpu/x.ts";
  const named = (id: string): string => `names the device "${id}"`;
  const device = "declare const x: { device: string };\n";
  const onlyApp = "only app/ may";
  const apart = "do not see each other";
  const double = "must not name the test double";
  const outcome = catches(
    walls,
    [
      seed("an arrow upwards", "main/ir/up.ts", 'import "../ops/x.ts";\n', noOps),
      seed("a type upwards", "main/ir/type.ts", 'import type { X } from "../ops/x.ts";\n', noOps),
      seed("an inline type", "main/ir/inline.ts", 'export type X = import("../ops/x.ts").X;\n', noOps),
      seed("a re-export", "main/ir/again.ts", 'export * from "../ops/x.ts";\n', noOps),
      seed("a re-exported type", "main/ir/types.ts", 'export type { X } from "../ops/x.ts";\n', noOps),
      seed("a lazy import", "main/ir/lazy.ts", 'export const x = await import("../ops/x.ts");\n', noOps),
      seed("a detour", "main/ir/detour.ts", 'import "../ir/../ops/x.ts";\n', noOps),
      seed("a suffix", "main/ir/suffix.ts", 'import "../ops/x.ts?raw";\n', noOps),
      seed("backend to backend", "main/backends/mlx/a.ts", 'import "../cpu/x.ts";\n', apart),
      seed("feature to feature", "renderer/features/a/a.ts", 'import "../b/x.ts";\n', apart),
      seed(
        "a backend's session in the runtime",
        "main/runtime/a.ts",
        'import type {} from "../backends/cpu/x.ts";\n',
        noCpu,
      ),
      seed("a backend's value in an op", "main/ops/a.ts", 'import "../backends/cpu/x.ts";\n', "only types"),
      seed("the contract's value in a part", "renderer/ui/a.ts", 'import "../../main/contract/x.ts";\n', "only types"),
      seed("schemas in the preload", "app/preload/a.ts", 'import "../../main/contract/x.ts";\n', "only types"),
      seed("node: in portable code", "main/formats/a.ts", 'import "node:fs";\n', "no Node here"),
      seed("node: in the renderer", "renderer/fs.ts", 'import "node:fs";\n', "no Node here"),
      seed("electron outside app", "main/node/a.ts", 'import "electron";\n', onlyApp),
      seed("electron's types outside app", "renderer/e.ts", 'import type { App } from "electron";\n', onlyApp),
      seed("React in the engine", "main/contract/a.ts", 'import "react";\n', "the package react"),
      seed("a package in a test", "main/ir/a.test.ts", 'import "react";\n', "the package react"),
      seed("the window in a test", "main/ir/b.test.ts", 'import "../../renderer/x.ts";\n', "must not import renderer"),
      seed("a way out of the repository", "main/ir/out.ts", 'import "../../../x.ts";\n', "outside the repository"),
      seed(
        "the double's name",
        "main/node/d.ts",
        "export const name = (bridge: { double?: 1 }) => bridge.double;\n",
        double,
      ),
      seed("the double in a text", "renderer/d.tsx", 'export const text = "A test double.";\n', double),
      seed("the double in native code", "native/src/a.mm", "#ifdef RLX_COREML_DOUBLE\n#endif\n", double),
      seed("a device's id as a text", "main/engine/a.ts", 'export const d = ["mlx"];\n', named("mlx")),
      seed("a device's id in a template", "renderer/a.ts", "export const d = `webgpu`;\n", named("webgpu")),
      seed("a device's id as a type", "main/node/b.ts", 'export type D = "coreml" | 1;\n', named("coreml")),
      seed("a device's id as a key", "renderer/b.ts", 'export const r = { "coreml-sim": 1 };\n', named("coreml-sim")),
      seed(
        "a comparison of devices",
        "main/engine/b.ts",
        `${device}export const c = x.device === "cpu";\n`,
        named("cpu"),
      ),
      seed(
        "devices told apart by a switch",
        "main/node/c.ts",
        `${device}switch (x?.device) { case "cpu": }\n`,
        named("cpu"),
      ),
      seed(
        "a comparison with a device's constant",
        "main/engine/c.ts",
        'import { MLX } from "../runtime/devices/mlx.ts";\nexport const c = (device: string) => device === MLX;\n',
        "compares with MLX",
      ),
      seed(
        "a comparison of ids",
        "renderer/c.ts",
        'export const c = (id: string) => "reference" !== id;\n',
        named("reference"),
      ),
      seed(
        "a device that is taken by name",
        "main/contract/b.ts",
        'export const r = { device: "cpu" };\n',
        named("cpu"),
      ),
      seed("a device by default", "main/contract/d.ts", 'export const d = z.default("cpu");\n', named("cpu")),
      seed("what does not parse", "main/ir/syntax.ts", "export const = ;\n", "does not parse"),
    ],
    Object.fromEntries(rows.map(({ path, text }) => [path, text])),
  );

  it.each(rows)("closes $folder", async ({ path, targets }) => {
    const lines = (await outcome()).output.split("\n");
    const refused = targets.filter((_, row) => lines.some((line) => line.startsWith(`${path}:${row + 1}: `)));
    expect(refused).toEqual(targets);
  });

  it("knows every folder", async () => {
    const { code, output } = await walls({ "main/newcomer/a.ts": "export {};\n", "extras/a.ts": "export {};\n" });
    expect(output).toContain("main/newcomer: a new folder needs a rule");
    expect(output).toContain("extras: a new folder needs a rule");
    expect(code).toBe(1);
  });
});
