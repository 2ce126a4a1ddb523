// A lock file made on one system can silently miss the platform packages of another (npm drops optional
// packages that the registry does not have yet). This reads package-lock.json alone and fails when an optional
// platform package is missing, when macOS or Linux has no binary of a tool that needs one, or when a host leaked in.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const needed = ["darwin-arm64", "linux-x64"];

/** Packages that ship one binary package per platform; each must be locked for every system we run on. */
const perPlatform = [
  /^@oxlint\/binding-/,
  /^@oxlint-tsgolint\//,
  /^@typescript\//,
  /^@rolldown\/binding-/,
  /^lightningcss-/,
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
  for (const pattern of perPlatform) {
    const family = [...names].filter((name) => pattern.test(name));
    if (family.length === 0) continue;
    for (const platform of needed) {
      if (!family.some((name) => name.includes(platform))) problems.push(`${pattern} has no package for ${platform}`);
    }
  }
  return problems;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const file = process.argv[2] ?? "package-lock.json";
  const problems = lockProblems(readFileSync(file, "utf8"));
  for (const problem of problems) console.error(`${file}: ${problem}`);
  process.exit(problems.length > 0 ? 1 : 0);
}
