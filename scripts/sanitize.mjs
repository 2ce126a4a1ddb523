// The addon inside Node under AddressSanitizer and UndefinedBehaviourSanitizer: graphs on every instruction set, cancels,
// disposals in the middle, plans that lie (main/testing/sanitizeAddon.ts). The C++ tests run under them through ctest.
// By hand: node scripts/sanitize.mjs
import { execFileSync } from "node:child_process";
import { isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildNative, nativeBuilds } from "./buildNative.mjs";
import { findCmake, findCompiler } from "./lib/environment.mjs";
import { root, runCaptured } from "./lib/process.mjs";

/** The compiler's own copy of a library, or undefined: it prints the bare name of what it does not have. */
function runtimeLibrary(name) {
  const compiler = findCompiler();
  if (!compiler) return undefined;
  const path = execFileSync(compiler, [`-print-file-name=${name}`], { encoding: "utf8" }).trim();
  return isAbsolute(path) ? path : undefined;
}

/** Why the addon cannot run under sanitizers on this machine, or undefined. */
export function lacksSanitizedAddon() {
  if (process.platform !== "linux")
    return "Node itself has no sanitizers: they are preloaded, which is the way on Linux";
  if (!findCmake()) return "no CMake";
  if (!runtimeLibrary("libasan.so")) return "the compiler has no libasan.so";
  return undefined;
}

/** Builds and runs it; gives the exit code and what was printed. */
export async function sanitizeAddon() {
  const problem = await buildNative("sanitize");
  if (problem) return { code: 1, output: problem };
  const libraries = ["libasan.so", "libubsan.so"].map(runtimeLibrary).filter((path) => path !== undefined);
  const addon = join(root, nativeBuilds.sanitize.folder, "rlx.node");
  return runCaptured(process.execPath, ["--import", "tsx", "main/testing/sanitizeAddon.ts", addon], {
    env: {
      LD_PRELOAD: libraries.join(" "),
      // Node keeps memory until it ends, so leaks are looked for in the C++ tests only; a truncated file raises SIGBUS,
      // which the addon answers itself.
      ASAN_OPTIONS: "detect_leaks=0:handle_sigbus=0",
      UBSAN_OPTIONS: "halt_on_error=1:print_stacktrace=1",
    },
    timeoutMs: 600_000,
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const lacks = lacksSanitizedAddon();
  const { code, output } = lacks ? { code: 0, output: `not run here: ${lacks}` } : await sanitizeAddon();
  console.log(output.trim());
  process.exit(code);
}
