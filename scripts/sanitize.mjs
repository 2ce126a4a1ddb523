// The addons inside Node under AddressSanitizer and UndefinedBehaviourSanitizer: graphs on every instruction set or in every mode
// of MLX, cancels, disposals in the middle, plans that lie (main/testing/sanitizeAddon.ts, sanitizeMlx.ts). MLX itself is not built
// with sanitizers: its reads and writes are not watched, its allocations are. The C++ tests run under them through ctest.
// By hand: node scripts/sanitize.mjs
import { execFileSync } from "node:child_process";
import { isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildNative, nativeBuilds } from "./buildNative.mjs";
import { findCmake, findCompiler, findMlx } from "./lib/environment.mjs";
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

export const lacksSanitizedMlx = () => lacksSanitizedAddon() ?? (findMlx() ? undefined : "MLX was not found");

/** Runs a life of an addon; gives the exit code and what was printed. */
async function underSanitizers(addon, life, { asan, more = {} }) {
  const problem = await buildNative("sanitize");
  if (problem) return { code: 1, output: problem };
  const libraries = ["libasan.so", "libubsan.so"].map(runtimeLibrary).filter((path) => path !== undefined);
  const path = join(root, nativeBuilds.sanitize.folder, addon);
  return runCaptured(process.execPath, ["--import", "tsx", life, path], {
    env: {
      LD_PRELOAD: libraries.join(" "),
      // A truncated file raises SIGBUS, which the addons answer themselves.
      ASAN_OPTIONS: `handle_sigbus=0:${asan}`,
      UBSAN_OPTIONS: "halt_on_error=1:print_stacktrace=1",
      ...more,
    },
    timeoutMs: 600_000,
  });
}

/** Leaks of this one are looked for in the C++ tests, which have all of it but the binding. */
export const sanitizeAddon = () =>
  underSanitizers("rlx.node", "main/testing/sanitizeAddon.ts", { asan: "detect_leaks=0" });

/** Leaks too: of everything that runs on the engine's thread, which is all that touches MLX. */
export const sanitizeMlx = () =>
  underSanitizers("rlx_mlx.node", "main/testing/sanitizeMlx.ts", {
    asan: "detect_leaks=1",
    more: { LSAN_OPTIONS: `print_suppressions=0:suppressions=${join(root, "native/tests/node.supp")}` },
  });

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const lives = [
    { lacks: lacksSanitizedAddon, run: sanitizeAddon },
    { lacks: lacksSanitizedMlx, run: sanitizeMlx },
  ];
  for (const { lacks, run } of lives) {
    const reason = lacks();
    const { code, output } = reason ? { code: 0, output: `not run here: ${reason}` } : await run();
    console.log(output.trim());
    if (code !== 0) process.exit(code);
  }
}
