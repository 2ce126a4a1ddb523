// Stamps: a step is skipped if its inputs are unchanged since it last succeeded and its output exists.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { root } from "./process.mjs";

const ignored = new Set(["node_modules", "build", "prebuilt", "out", "__pycache__", ".venv"]);

function* filesBelow(path) {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return;
  if (!stat.isDirectory()) {
    yield path;
    return;
  }
  for (const name of readdirSync(path).sort()) {
    if (!ignored.has(name) && !name.startsWith("build-")) yield* filesBelow(join(path, name));
  }
}

/** Files that no build reads. */
const besides = /\.(test\.tsx?|md)$/;

/** A key over the contents of files and folders (relative to the repository) and some words. */
export function keyOf(paths, words = []) {
  const hash = createHash("sha256").update(words.join("\0"));
  for (const path of paths) {
    for (const file of filesBelow(join(root, path))) {
      if (besides.test(file)) continue;
      hash.update(file.slice(root.length)).update("\0").update(readFileSync(file)).update("\0");
    }
  }
  return hash.digest("hex");
}

/** A quick look at times instead of contents: whether the output is there and no source is newer. */
export function isNewest(output, sources) {
  const made = statSync(join(root, output), { throwIfNoEntry: false })?.mtimeMs;
  if (made === undefined) return false;
  // A deleted file or a broken link cannot be newer.
  const isOlder = (path) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) <= made;
  // Not `filesBelow`, which asks for each file twice and sorts: this runs before every command.
  const areOlder = (folder) =>
    readdirSync(folder, { withFileTypes: true }).every((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return ignored.has(entry.name) || areOlder(path);
      return besides.test(entry.name) || isOlder(path);
    });
  return sources
    .map((source) => join(root, source))
    .filter((path) => existsSync(path))
    .every((path) =>
      statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? areOlder(path) : isOlder(path),
    );
}

const stampPath = (name) => join(root, ".cache/stamps", name);

export function isFresh(name, key, outputs) {
  const path = stampPath(name);
  const outputsExist = outputs.every((output) => existsSync(join(root, output)));
  return outputsExist && existsSync(path) && readFileSync(path, "utf8") === key;
}

export function markFresh(name, key) {
  mkdirSync(dirname(stampPath(name)), { recursive: true });
  writeFileSync(stampPath(name), key);
}

export const forget = (name) => rmSync(stampPath(name), { force: true });

/** What this machine has found clean, whichever clone asked: a key holds all that the finding depends on. */
function cleanPath(check, key) {
  const said = process.env["XDG_CACHE_HOME"] ?? "";
  return join(isAbsolute(said) ? said : join(homedir(), ".cache"), "rlx-workbench-checks", check, key);
}

export const wasClean = (check, key) => existsSync(cleanPath(check, key));

export function markClean(check, key) {
  const path = cleanPath(check, key);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
}
