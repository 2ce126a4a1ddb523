// A lock file made on one system can silently miss the platform packages of another (npm drops optional
// packages that the registry does not have yet). This reads package-lock.json alone and fails when an optional
// platform package is missing, when macOS or Linux has no binary of a tool that needs one, or when a host leaked in.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/** The systems we develop and test on: Macs with Apple silicon (no others are supported) and Linux. */
const needed = [/(darwin|mac)-arm64/, /linux-x64/];

/** Tools that ship one binary package per platform: where the tool is locked, so must be its binaries for every system. */
export const perPlatform = [
  { tool: "oxlint", binaries: /^@oxlint\/binding-/ },
  { tool: "oxlint-tsgolint", binaries: /^@oxlint-tsgolint\// },
  { tool: "typescript", binaries: /^@typescript\/typescript-/ },
  { tool: "rolldown", binaries: /^@rolldown\/binding-/ },
  { tool: "lightningcss", binaries: /^lightningcss-/ },
  { tool: "esbuild", binaries: /^@esbuild\// },
  { tool: "oxc-parser", binaries: /^@oxc-parser\/binding-/ },
  { tool: "oxc-resolver", binaries: /^@oxc-resolver\/binding-/ },
  { tool: "node-llama-cpp", binaries: /^@node-llama-cpp\// },
];

/** Is `name` reachable from the package at `from` by Node's own lookup (walking up the node_modules folders)? */
function isLocked(packages, from, name) {
  for (let path = from; ;) {
    if (packages[`${path ? `${path}/` : ""}node_modules/${name}`]) return true;
    if (!path) return false;
    const parent = path.lastIndexOf("/node_modules/");
    path = parent < 0 ? "" : path.slice(0, parent);
  }
}

export function lockProblems(text) {
  const { packages } = JSON.parse(text);
  const problems = [];
  const names = new Set(Object.keys(packages).map((path) => path.split("node_modules/").at(-1)));
  for (const [path, entry] of Object.entries(packages)) {
    for (const name of Object.keys(entry.optionalDependencies ?? {})) {
      if (path && !isLocked(packages, path, name)) problems.push(`${path} lacks its optional package ${name}`);
    }
    if (path && !entry.integrity && !entry.link) problems.push(`${path} has no integrity hash`);
    if (entry.resolved) problems.push(`${path} names the host it came from (${entry.resolved})`);
  }
  for (const { tool, binaries } of perPlatform) {
    if (!names.has(tool)) continue;
    const family = [...names].filter((name) => binaries.test(name));
    for (const platform of needed) {
      if (!family.some((name) => platform.test(name))) problems.push(`${tool} has no binary for ${platform.source}`);
    }
  }
  return problems;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const file = process.argv[2] ?? "package-lock.json";
  const problems = lockProblems(readFileSync(file, "utf8"));
  for (const problem of problems) console.error(`${file}: ${problem}`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
