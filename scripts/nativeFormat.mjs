// C++ and Objective-C++ of native/ in the form of .clang-format: node scripts/nativeFormat.mjs [--write]
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { findClangFormat } from "./lib/environment.mjs";
import { root, runCaptured } from "./lib/process.mjs";

const folders = ["native/src", "native/tests", "native/bench", "bench/support"];

function* sources(folder) {
  if (!existsSync(join(root, folder))) return;
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory() && !/^(build|node_modules)/.test(entry.name)) yield* sources(path);
    else if (/\.(h|cpp|mm)$/.test(entry.name)) yield path;
  }
}

/** Checks all files, or rewrites them; gives what is wrong, or undefined. */
export async function nativeFormat({ write = false } = {}) {
  const program = findClangFormat();
  if (!program) {
    const reason = "no clang-format-19 (Debian: clang-format-19; or node scripts/setup.mjs --all)";
    if (process.env["CI"] && process.env["CI"] !== "false") return reason;
    console.log(`not available: ${reason}`);
    return undefined;
  }
  const files = folders.flatMap((folder) => [...sources(folder)]);
  const options = write ? ["-i"] : ["--dry-run", "--Werror"];
  const { code, output } = await runCaptured(program, [...options, ...files]);
  if (code === 0) return undefined;
  const wrong = [...new Set(output.match(/^\S+?(?=:\d+:\d+: error)/gm) ?? [])];
  return wrong.length > 0
    ? `not formatted (node scripts/nativeFormat.mjs --write):\n${wrong.join("\n")}`
    : output.trim();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const problem = await nativeFormat({ write: process.argv.includes("--write") });
  if (problem) console.error(problem);
  process.exitCode = problem ? 1 : 0;
}
