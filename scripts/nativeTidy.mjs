// clang-tidy over the C++ of the CPU engine and its addon: node scripts/nativeTidy.mjs. A machine looks at a file again only
// when it, a header that it includes, its flags, .clang-tidy or clang-tidy itself changes. Not over the kernels, which are compiled once per instruction
// set, nor over MLX and Core ML, whose headers take longer than all the rest.
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, normalize } from "node:path";
import { pathToFileURL } from "node:url";
import { findClangTidy, findCmake } from "./lib/environment.mjs";
import { isCi, root, runCaptured } from "./lib/process.mjs";
import { keyOf, markClean, wasClean } from "./lib/stamp.mjs";

const folder = ".cache/build-tidy";
const included = /^native\/src\/(core|binding|cpu(?!\/kernels))\//;

/** The file and all of ours that it includes, relative to the repository. */
function closureOf(path, seen = new Set()) {
  if (seen.has(path)) return seen;
  seen.add(path);
  for (const [, name] of readFileSync(join(root, path), "utf8").matchAll(/^#include "([^"]+)"/gm)) {
    const places = [dirname(path), "native/src", "native/src/cpu/kernels"].map((from) => normalize(join(from, name)));
    const target = places.find((place) => existsSync(join(root, place)));
    if (target) closureOf(target, seen);
  }
  return seen;
}

/** Gives what is wrong, or undefined. */
export async function nativeTidy() {
  const tidy = findClangTidy();
  const cmake = findCmake();
  if (!tidy || !cmake) {
    const reason = "no clang-tidy-19 or no CMake (Debian: clang-tidy-19, cmake; or node scripts/setup.mjs --all)";
    if (isCi) return reason;
    console.log(`not available: ${reason}`);
    return undefined;
  }
  const setUp = ["-S", "native", "-B", folder, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DRLX_PRECOMPILE=OFF"];
  const { code, output } = await runCaptured(cmake, setUp);
  if (code !== 0) return `CMake could not configure:\n${output.trim()}`;
  const commands = JSON.parse(readFileSync(join(root, folder, "compile_commands.json"), "utf8"));
  const { output: version } = await runCaptured(tidy, ["--version"]);
  const stale = commands
    .map(({ file, command }) => ({ path: file.slice(root.length + 1), flags: command.replaceAll(root, "") }))
    .filter(({ path }) => included.test(path))
    .map(({ path, flags }) => ({
      path,
      key: keyOf([".clang-tidy", "package-lock.json", ...closureOf(path)], [version, flags]),
    }))
    .filter(({ key }) => !wasClean("clang-tidy", key));
  const problems = [];
  const work = async () => {
    for (let next = stale.pop(); next; next = stale.pop()) {
      const found = await runCaptured(tidy, ["--quiet", "-p", folder, next.path]);
      if (found.code === 0) markClean("clang-tidy", next.key);
      else
        problems.push(
          found.output
            .replace(/^\d+ warnings? .*\n/gm, "")
            .replaceAll(`${root}/`, "")
            .trim(),
        );
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return problems.length > 0 ? problems.join("\n") : undefined;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const problem = await nativeTidy();
  if (problem) console.error(problem);
  process.exitCode = problem ? 1 : 0;
}
