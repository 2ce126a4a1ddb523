// Stamps: a step is skipped when its inputs are what they were when it last succeeded and its output is still there.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./process.mjs";

const ignored = new Set(["node_modules", "build", "out", "__pycache__", ".venv"]);

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

/** A key over the contents of files and folders (relative to the repository) and some words. */
export function keyOf(paths, words = []) {
  const hash = createHash("sha256").update(words.join("\0"));
  for (const path of paths) {
    for (const file of filesBelow(join(root, path))) {
      if (/\.(test\.tsx?|md)$/.test(file)) continue;
      hash.update(file.slice(root.length)).update("\0").update(readFileSync(file)).update("\0");
    }
  }
  return hash.digest("hex");
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
