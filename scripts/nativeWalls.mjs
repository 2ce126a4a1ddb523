// Which parts of native/src include which: core ◀ cpu, mlx, coreml, and the engines never see each other. Only folders
// named `binding` include napi.h. An allow-list, as in walls.mjs: a folder without a row is a fault.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./lib/process.mjs";

const source = "native/src";
const engines = ["cpu", "mlx", "coreml"];

/** Per folder of native/src (the longest matching row counts): the folders it may include. Its own is always allowed. */
export const nativeWalls = [
  { folder: "core", may: [] },
  { folder: "cpu", may: ["core"] },
  // Compiled once per instruction set: types and formats, nothing that allocates or throws.
  { folder: "cpu/kernels", may: ["core/formats", "core/half.h"] },
  { folder: "mlx", may: ["core"] },
  { folder: "coreml", may: ["core"] },
  { folder: "binding", may: ["core"], node: true },
  ...engines.map((engine) => ({ folder: `${engine}/binding`, may: [engine, "core", "binding"], node: true })),
];

const inside = (folder, path) => path === folder || path.startsWith(`${folder}/`);
const includeLine = /^[ \t]*#[ \t]*(?:include|import)[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)/gm;

function ruleFor(path) {
  const rows = nativeWalls.filter(({ folder }) => inside(folder, path));
  return rows.sort((a, b) => b.folder.length - a.folder.length)[0];
}

function* sourceFiles(folder = "") {
  const at = join(root, source, folder);
  if (!existsSync(at)) return;
  for (const entry of readdirSync(at, { withFileTypes: true })) {
    const path = folder ? `${folder}/${entry.name}` : entry.name;
    if (entry.isDirectory()) yield* sourceFiles(path);
    else if (/\.(c|h|cpp|hpp|m|mm|inc)$/.test(entry.name)) yield path;
  }
}

/** The file of ours that an include names: beside the includer, else below native/src, as the compiler looks. */
function targetOf(path, name) {
  const beside = posix.normalize(posix.join(dirname(path), name));
  const below = posix.normalize(name);
  const isOurs = (place) => existsSync(join(root, source, place)) && statSync(join(root, source, place)).isFile();
  return [beside, below].find(isOurs) ?? beside;
}

function faultOf(path, rule, quoted, bracketed) {
  const name = quoted ?? bracketed;
  if (/^(napi|node_api|js_native_api)/.test(name))
    return rule.node ? undefined : `must not include ${name}: only binding folders may`;
  const target = targetOf(path, name);
  // A system or library header, unless it names a file of ours through the include path.
  if (bracketed !== undefined && !existsSync(join(root, source, target))) return undefined;
  if (target.startsWith("..")) return `must not include ${name}: it lies outside ${source}`;
  const row = ruleFor(target);
  const isSeen = [rule.folder, ...rule.may].some((folder) => inside(folder, target));
  const isHidden = row?.node && row !== rule && !rule.may.includes(row.folder);
  if (isSeen && !isHidden) return undefined;
  return `must not include ${target}: ${rule.folder} may see ${rule.may.join(", ") || "nothing"}`;
}

/** Every breach, as `file:line: what`. */
export function nativeWallProblems() {
  const problems = [];
  for (const path of sourceFiles()) {
    const rule = ruleFor(path);
    if (!rule) {
      problems.push(`${source}/${path}: a new folder needs a row in scripts/nativeWalls.mjs`);
      continue;
    }
    const text = readFileSync(join(root, source, path), "utf8");
    for (const { 1: quoted, 2: bracketed, index } of text.matchAll(includeLine)) {
      const fault = faultOf(path, rule, quoted, bracketed);
      if (fault) problems.push(`${source}/${path}:${text.slice(0, index).split("\n").length}: ${fault}`);
    }
  }
  return problems;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const problems = nativeWallProblems();
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
