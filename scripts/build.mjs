// Builds the programs whose sources changed: node scripts/build.mjs [renderer|engine|cli|shell|preload|library …] [--force]
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { writeLibraryTypes } from "./libraryTypes.mjs";
import { writeAllLicenses } from "./licenses.mjs";
import { npmProgram, root, runCaptured } from "./lib/process.mjs";
import { forget, isFresh, keyOf, markFresh } from "./lib/stamp.mjs";

const shared = ["vite.config.ts", "package-lock.json"];
/** Kernels as well: what is kept on disk was made, or measured, with them. */
const engine = ["main", "native/src"];
/** The graph's drawing, which the command line and the library share with the window. */
const drawing = ["renderer/drawing", "renderer/graph", "renderer/ui", "renderer/session"];
const targets = [
  { name: "cli", entry: "main/node/cli/entry.ts", output: "out/cli/rlx.js", sources: [...engine, ...drawing] },
  { name: "engine", entry: "main/node/engineEntry.ts", output: "out/engine/index.js", sources: engine },
  { name: "shell", entry: "app/shell/index.ts", output: "out/main/index.js", sources: ["app", "main"] },
  {
    name: "preload",
    entry: "app/preload/index.ts",
    output: "out/preload/index.cjs",
    sources: ["app", "main/contract"],
  },
  {
    name: "renderer",
    entry: "renderer/index.html",
    output: "out/renderer/index.html",
    sources: ["renderer", "main/contract", "main/diagnostics", "main/ir/samplingRanges.ts", "assets"],
  },
  {
    name: "library",
    entry: "main/library/index.ts",
    output: "out/library/index.js",
    sources: ["main", ...drawing, "tsconfig.base.json", "scripts/libraryTypes.mjs"],
    and: writeLibraryTypes,
  },
];

/** What plans and calibrations are kept under: any change of the engine's sources makes other keys. The same for every program. */
const buildHash = () => keyOf([...engine, "package-lock.json"]);

/** The bundler's own words, without colours, frames and the picture of the line. */
function essence(text) {
  const lines = stripVTControlCharacters(text).split("\n");
  return lines.filter((line) => /^\[|^ - |error|Error/.test(line) && !/^\s+at |errors: \[/.test(line)).join("\n  ");
}

async function buildOne({ name, entry, output, sources, and }, force) {
  if (!existsSync(join(root, entry))) return { name, failed: true, note: `its entry ${entry} does not exist` };
  const key = keyOf([...sources, ...shared]);
  if (!force && isFresh(`build-${name}`, key, [output])) return { name, note: "unchanged" };
  forget(`build-${name}`);
  const start = Date.now();
  const { code, output: said } = await runCaptured(npmProgram("vite"), ["build", "--mode", name], {
    env: { NODE_ENV: "production", NO_COLOR: "1", FORCE_COLOR: "0", RLX_BUILD_HASH: buildHash() },
  });
  if (code !== 0) return { name, failed: true, note: essence(said) };
  const fault = await and?.();
  if (fault) return { name, failed: true, note: fault };
  markFresh(`build-${name}`, key);
  return { name, note: `built in ${((Date.now() - start) / 1000).toFixed(1)} s` };
}

/** Builds what is stale; gives true when everything that was asked for is there. */
export async function build({ names = targets.map(({ name }) => name), force = false, say = console.error } = {}) {
  let complete = true;
  for (const target of targets.filter(({ name }) => names.includes(name))) {
    const { name, failed, note } = await buildOne(target, force);
    if (failed) complete = false;
    if (note !== "unchanged") say(`build ${name}: ${note}`);
  }
  if (existsSync(join(root, "out", "renderer"))) writeAllLicenses(root);
  return complete;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const names = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));
  const unknown = names.filter((name) => !targets.some((target) => target.name === name));
  if (unknown.length > 0) {
    console.error(`build: unknown target ${unknown.join(", ")}, have ${targets.map(({ name }) => name).join(", ")}`);
    process.exit(2);
  }
  const complete = await build({ ...(names.length > 0 ? { names } : {}), force: process.argv.includes("--force") });
  process.exit(complete ? 0 : 1);
}
