// Which folder may import which. The table is an allow-list: a folder without a rule is a fault, and so is an import that no
// rule names. Imports are read by a real parser and resolved on disk, so neither comments nor `../` can hide one.
//
//   diagnostics, quant ◀ ir ◀ ops ◀ passes/autodiff ◀ compiler ◀ runtime ◀ training ◀ node
//   backends/<b> sees ir and its own folder; ops see a backend's types and its rules.ts; the renderer sees the contract.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { parseSync } from "vite";
import { deviceNameFaults } from "./deviceNames.mjs";
import { root } from "./lib/process.mjs";

const base = ["main/diagnostics"];
const core = [...base, "main/quant", "main/ir"];
const graphLayers = [...core, "main/ops", "main/passes", "main/autodiff"];
const everyBackend = ["main/backends"];
/** Pure helpers that turn a one-line entry of an op file into a call of the backend's emitter. */
const backendRules = [
  ...["cpu", "coreml", "mlx", "webgpu"].map((name) => `main/backends/${name}/rules.ts`),
  "main/backends/coreml/windowRules.ts",
  "main/backends/coreml/quantRules.ts",
];
/** The layout of linear_block's operands, the steps of a region: fusions of the CPU write them, the ops read them. */
const fusedForms = ["linearBlockOperands", "regionSteps"].map((name) => `main/backends/cpu/${name}.ts`);
const belowBackends = [...graphLayers, "main/formats", "main/models", "main/compiler"];
const compilerLayers = [...belowBackends, ...everyBackend];
const textLayers = ["main/tokenizer", "main/chatTemplate", "main/replies", "main/grammar"];
const runtimeLayers = [...compilerLayers, ...textLayers, "main/runtime"];
/** The runtime knows sessions (main/ir/session.ts); an engine is known to its own device file only. */
const aboveSessions = [...belowBackends, ...textLayers, "main/runtime"];
/** What the drawing of a graph is made of: none of it needs a DOM (renderer/drawing/tsconfig.portable.json). */
const drawn = [
  "renderer/graph",
  ...["format", "devices", "weightColors"].map((name) => `renderer/ui/${name}.ts`),
  ...["async", "selected"].map((name) => `renderer/session/${name}.ts`),
];
const drawing = ["renderer/drawing", "renderer/graph/graphModel.ts"];
const engine = [
  ...runtimeLayers,
  "main/gallery",
  "main/training",
  "main/quantize",
  "main/statistics",
  "main/compare",
  "main/contract",
];

/** What clients of the engine may import of it, and of Node's helpers. */
const doors = [
  ...base,
  "main/contract",
  "main/engine/connection.ts",
  "main/engine/words.ts",
  "main/node/files",
  "main/node/settings.ts",
];

/**
 * Per folder (the longest matching entry counts): which folders of ours it may import, `types` for type-only imports,
 * `packages` from npm, and whether Node's modules are allowed. Its own folder is always allowed, unless `alone` says
 * that its subfolders do not see each other.
 */
export const walls = [
  { folder: "main/diagnostics", may: [] },
  { folder: "main/quant", may: [] },
  { folder: "main/ir", may: [...base, "main/quant"] },
  { folder: "main/ops", may: [...core, ...backendRules, ...fusedForms], types: everyBackend },
  { folder: "main/passes", may: [...core, "main/ops"] },
  { folder: "main/autodiff", may: [...core, "main/ops"] },
  { folder: "main/formats", may: core },
  { folder: "main/quantize", may: [...core, "main/formats"] },
  { folder: "main/compare", may: [...core, "main/formats"] },
  { folder: "main/statistics", may: [...core, "main/formats"] },
  { folder: "main/tokenizer", may: [...base, "main/formats", "main/ir/steps.ts"] },
  {
    folder: "main/chatTemplate",
    may: [...base, "main/tokenizer", "main/ir/steps.ts"],
    packages: ["@huggingface/jinja"],
  },
  { folder: "main/replies", may: [...base, "main/grammar"] },
  { folder: "main/grammar", may: [...base, "main/ir/steps.ts"] },
  { folder: "main/gallery", may: [] },
  { folder: "main/models", may: [...core, "main/ops", "main/formats"] },
  { folder: "main/backends", may: core, alone: true, packages: ["protobufjs"] },
  { folder: "main/compiler", may: compilerLayers },
  { folder: "main/runtime", may: [...aboveSessions, "main/backends/coreml"] },
  { folder: "main/runtime/devices/cpu.ts", may: [...aboveSessions, "main/backends/cpu"] },
  { folder: "main/runtime/devices/mlx.ts", may: [...aboveSessions, "main/backends/mlx"] },
  {
    folder: "main/training",
    may: [...graphLayers, "main/compiler", "main/runtime", "main/formats", "main/models"],
  },
  { folder: "main/contract", may: [...base, "main/ir/samplingRanges.ts"], packages: ["zod"] },
  // Portable: what it needs of a system comes as services (main/engine/services.ts).
  { folder: "main/engine", may: engine, packages: ["zod"] },
  {
    folder: "main/node",
    may: [...engine, "main/engine", "main/library"],
    node: true,
    packages: ["commander", "ws", "zod"],
  },
  // The two doors of the library (docs/library.md): the portable one runs in browsers, the other adds what needs a machine.
  { folder: "main/library", may: [...runtimeLayers, "main/compare", "main/training"] },
  {
    folder: "main/node/library",
    may: [
      ...runtimeLayers,
      "main/training",
      "main/quantize",
      "main/statistics",
      "main/library",
      "main/contract/version.ts",
      "main/contract/views",
      "main/engine/advice",
      "main/engine/models",
      "main/engine/views",
      "main/engine/random.ts",
      "main/node/files",
      "main/node/native",
      "main/node/settings.ts",
      ...drawing,
    ],
    node: true,
  },
  // Commands and server talk to the engine over the contract, and start it by its entry.
  {
    folder: "main/node/cli",
    may: [...doors, "main/node/nodeEngine.ts", "main/node/api", "main/node/serve", ...drawing],
    node: true,
    packages: ["commander", "zod"],
  },
  { folder: "main/node/serve", may: doors, node: true, packages: ["ws", "zod"] },
  // The HTTP server for other programs: a client of the engine, too.
  { folder: "main/node/api", may: [...doors, "main/node/serve"], node: true, packages: ["zod"] },
  {
    folder: "main/testing",
    may: [...engine, "main/engine", "main/node", "main/library"],
    node: true,
    packages: ["esbuild", "fast-check", "openai", "vitest"],
  },
  {
    folder: "renderer",
    may: ["main/contract", ...base],
    packages: [
      "@base-ui/react",
      "@tanstack/react-virtual",
      "@xyflow/react",
      "lucide-react",
      "marked",
      "monaco-editor",
      "react",
      "react-dom",
      "react-resizable-panels",
      "zod",
      "zustand",
    ],
  },
  // The graph's drawing: in the window, and without a browser in the command line and the library.
  { folder: "renderer/drawing", may: [...drawn, "main/contract", ...base] },
  { folder: "renderer/features", may: ["renderer", "main/contract", ...base], alone: true, packages: "renderer" },
  { folder: "renderer/ui", may: ["main/contract/heat.ts"], types: ["main/contract"], packages: "renderer" },
  {
    folder: "app",
    may: ["main/contract", "main/node", ...base],
    node: true,
    packages: ["electron", "electron-updater"],
  },
  {
    folder: "app/preload",
    // Two files of constants; anything with a schema in it would put zod into the preload.
    may: ["main/contract/shell.ts", "app/channels.ts"],
    types: ["main/contract", "app"],
    packages: ["electron"],
  },
  {
    folder: "e2e",
    may: ["main/contract", "main/engine", "main/node", "main/testing", "scripts", ...base],
    node: true,
    packages: ["@playwright/test", "axe-core", "ws"],
  },
  // Run with their own dependencies.
  { folder: "bench/peers", may: [], node: true, packages: ["node-llama-cpp"] },
  {
    folder: "bench",
    may: [...engine, "main/engine", "main/node", "main/testing", "scripts"],
    node: true,
    packages: ["esbuild", "@playwright/test"],
  },
  { folder: "scripts", may: [], node: true, packages: ["vite", "vitest"] },
  { folder: "proto", may: ["scripts"], node: true, packages: ["protobufjs", "protobufjs-cli", "vitest", "prettier"] },
  { folder: "bin", may: ["scripts"], node: true },
  { folder: "native", may: ["main/node", "main/testing", ...runtimeLayers], node: true, packages: ["vitest"] },
];

/** Folders whose TypeScript and JavaScript is not ours to judge. */
const outside = new Set(["node_modules", "out", "dist", "release", ".venv", ".cache", ".git", "coverage", "build"]);
const sourceFile = /\.(ts|tsx|mts|mjs|js|cjs)$/;
const testFile = /\.test\.tsx?$/;
const testPackages = ["vitest", "fast-check"];

const inside = (folder, path) => path === folder || path.startsWith(`${folder}/`);

/** The rule for a file: the longest folder that holds it; files at the root of the repository or of main are free. */
function ruleFor(path) {
  return walls.filter(({ folder }) => inside(folder, path)).sort((a, b) => b.folder.length - a.folder.length)[0];
}

function importsOf(text, { module, program, errors }) {
  if (errors.length > 0) return { faults: [`does not parse: ${errors[0].message}`], imports: [] };
  const imports = [];
  const lineAt = (offset) => text.slice(0, offset).split("\n").length;
  for (const { moduleRequest, entries, start, end } of module.staticImports) {
    const statement = text.slice(start, end);
    const typeOnly =
      /^import\s+type\b/.test(statement) || (entries.length > 0 && entries.every((entry) => entry.isType));
    imports.push({ specifier: moduleRequest.value, typeOnly, line: lineAt(start) });
  }
  for (const { entries, start } of module.staticExports) {
    for (const { moduleRequest, isType } of entries) {
      if (moduleRequest) imports.push({ specifier: moduleRequest.value, typeOnly: isType, line: lineAt(start) });
    }
  }
  for (const { moduleRequest, start } of module.dynamicImports) {
    const literal = /^["'`]([^"'`$]*)["'`]$/.exec(text.slice(moduleRequest.start, moduleRequest.end).trim());
    if (literal) imports.push({ specifier: literal[1], typeOnly: false, line: lineAt(start) });
  }
  // `type T = import("./x.ts").T` is no statement and no expression, so the parser's lists leave it out.
  if (/\bimport\(/.test(text)) {
    for (const node of nodesOf(program)) {
      if (node.type !== "TSImportType") continue;
      imports.push({
        specifier: (node.source ?? node.argument.literal).value,
        typeOnly: true,
        line: lineAt(node.start),
      });
    }
  }
  return { faults: [], imports };
}

function* nodesOf(value) {
  if (typeof value !== "object" || value === null) return;
  if (typeof value.type === "string") yield value;
  for (const item of Object.values(value)) yield* nodesOf(item);
}

const packageOf = (specifier) =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");

/** The subfolder of `folder` that holds `path`: with `alone`, one does not see another. */
const partOf = (folder, path) => path.slice(folder.length + 1).split("/")[0];

function faultOf(path, rule, isTest, { specifier, typeOnly }) {
  if (specifier.startsWith("node:"))
    return rule.node || isTest ? undefined : `must not import ${specifier}: no Node here`;
  if (!specifier.startsWith(".")) {
    const name = packageOf(specifier);
    const allowed =
      rule.packages === "renderer" ? walls.find(({ folder }) => folder === "renderer").packages : rule.packages;
    if ((allowed ?? []).includes(name) || (isTest && testPackages.includes(name))) return undefined;
    return name === "electron" ? "must not import electron: only app/ may" : `must not import the package ${name}`;
  }
  const target = relative(root, resolve(root, dirname(path), specifier))
    .split(sep)
    .join("/")
    .replace(/\?.*$/, "");
  if (target.startsWith("..")) return `imports ${specifier}, outside the repository`;
  if (isTest && (inside("main", target) || inside("scripts", target) || inside(path.split("/")[0], target)))
    return undefined;
  if (inside(rule.folder, target)) {
    if (!rule.alone || partOf(rule.folder, path) === partOf(rule.folder, target)) return undefined;
    return `must not import ${target}: the folders of ${rule.folder} do not see each other`;
  }
  if (rule.may.some((folder) => inside(folder, target))) return undefined;
  if (typeOnly && (rule.types ?? []).some((folder) => inside(folder, target))) return undefined;
  if (/\.(json|css|svg|wasm|gguf)$/.test(target) && !inside("main", target)) return undefined;
  if (rule.types?.some((folder) => inside(folder, target))) return `may import only types from ${target}`;
  return `must not import ${target}: ${rule.folder} may see ${[...rule.may, ...(rule.types ?? [])].join(", ") || "nothing"}`;
}

function* sourceFiles(folder, kind = sourceFile) {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    if (outside.has(entry.name) || entry.name.startsWith(".")) continue;
    const path = folder ? `${folder}/${entry.name}` : entry.name;
    if (entry.isDirectory()) yield* sourceFiles(path, kind);
    else if (kind.test(entry.name) && !entry.name.endsWith(".d.ts")) yield path;
  }
}

/** Production files, which must not know the double of Apple's frameworks. */
const production = ["main", "app", "renderer", "bin", "native/src"];
const productionFile = /\.(ts|tsx|mts|mjs|js|cjs|cpp|mm|h)$/;
const namesDouble = /test double|coreml[_ -]?double|for_?double|(bridge(\(\))?|native|addon)\??\.double\b/i;

function* namesOfTheDouble() {
  for (const folder of production.filter((one) => existsSync(join(root, one))))
    for (const path of sourceFiles(folder, productionFile)) {
      if (testFile.test(path) || inside("main/testing", path)) continue;
      const lines = readFileSync(join(root, path), "utf8").split("\n");
      for (const [i, line] of lines.entries())
        if (namesDouble.test(line)) yield `${path}:${i + 1}: must not name the test double of Core ML`;
    }
}

/** Folders that must have a rule: those of main/, and those at the top that hold source. */
function foldersWithoutRule() {
  const known = new Set(walls.map(({ folder }) => folder));
  const inMain = existsSync(join(root, "main")) ? readdirSync(join(root, "main")).map((name) => `main/${name}`) : [];
  const atTop = readdirSync(root).filter((name) => !outside.has(name) && !name.startsWith(".") && name !== "main");
  return [...inMain, ...atTop]
    .filter((path) => !known.has(path) && statSync(join(root, path)).isDirectory())
    .filter((path) => path.startsWith("main/") || [...sourceFiles(path)].length > 0)
    .map((path) => `${path}: a new folder needs a rule in scripts/walls.mjs`);
}

/** Every breach, as `file:line: what`. */
export function wallProblems() {
  const problems = [...foldersWithoutRule(), ...namesOfTheDouble()];
  for (const path of sourceFiles("")) {
    const rule = ruleFor(path);
    if (!rule) continue;
    const text = readFileSync(join(root, path), "utf8");
    const parsed = parseSync(path, text);
    const { faults, imports } = importsOf(text, parsed);
    problems.push(...faults.map((fault) => `${path}: ${fault}`));
    for (const found of imports) {
      const fault = faultOf(path, rule, testFile.test(path), found);
      if (fault) problems.push(`${path}:${found.line}: ${fault}`);
    }
    for (const { line, fault } of deviceNameFaults(path, text, parsed)) problems.push(`${path}:${line}: ${fault}`);
  }
  return problems;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const problems = wallProblems();
  for (const problem of problems) console.error(problem);
  // `process.exit` would cut off what a pipe has not taken yet.
  process.exitCode = problems.length > 0 ? 1 : 0;
}
