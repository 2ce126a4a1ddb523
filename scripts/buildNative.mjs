// Builds the native engine with CMake: node scripts/buildNative.mjs [addon|mlx|tests|sanitize|arm64|windows] [--force]
//   addon     native/build/rlx.node
//   mlx       native/build/rlx_mlx.node, where MLX is found (MLX_DIR, .venv, Homebrew)
//   tests     the C++ tests                                  native/build: these three share what they are made of
//   sanitize  the C++ tests and the addons (that of MLX where MLX is found), ASan and UBSan    native/build-sanitize
//   arm64     the C++ tests for arm64, to run under qemu     native/build-arm64
//   windows   the C++ tests for Windows, to run under Wine, and the addon    native/build-windows
//   coreml    native/build-coreml/rlx_coreml.node            against Core ML on a Mac, against the test double on Linux
//   coremlSanitize  the tests of the Core ML bridge under sanitizers, against the double
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { availableParallelism } from "node:os";
import { findClang, findCmake, findCompiler, findMlx, lacksDouble, MINGW, MLX_PLACES } from "./lib/environment.mjs";
import { hasProgram, root, runCaptured } from "./lib/process.mjs";
import { forget, isFresh, keyOf, markFresh } from "./lib/stamp.mjs";
import { wineLauncher } from "./lib/wine.mjs";

const crossArm64 = [
  "-DCMAKE_SYSTEM_NAME=Linux",
  "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
  "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++",
  "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-cpu;max;-L;/usr/aarch64-linux-gnu",
];
const crossWindows = [
  "-DCMAKE_SYSTEM_NAME=Windows",
  "-DCMAKE_SYSTEM_PROCESSOR=x86_64",
  `-DCMAKE_CXX_COMPILER=${MINGW}`,
  `-DCMAKE_CROSSCOMPILING_EMULATOR=${wineLauncher()}`,
];
/** Objective-C without Apple: clang's runtime ABI and a double of the frameworks. */
function againstDouble() {
  return ["-DRLX_COREML_DOUBLE=ON", `-DCMAKE_CXX_COMPILER=${findClang() ?? "clang++-19"}`];
}
export const nativeBuilds = {
  // Said each time, because the folder remembers: an MLX that is gone must not stop the others.
  addon: { folder: "native/build", target: "rlx", options: ["-DRLX_MLX=OFF"], output: "native/build/rlx.node" },
  mlx: { folder: "native/build", target: "rlx_mlx", options: [], output: "native/build/rlx_mlx.node", mlx: "needed" },
  tests: { folder: "native/build", target: "rlx_tests", options: ["-DRLX_MLX=OFF", "-DRLX_TESTS=ON"] },
  sanitize: {
    folder: "native/build-sanitize",
    options: ["-DRLX_TESTS=ON", "-DRLX_ADDON=ON", "-DRLX_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"],
    mlx: "used",
  },
  // What its tests run: the rest has no code of its own for a processor.
  arm64: {
    folder: "native/build-arm64",
    target: "rlx_tests",
    options: ["-DRLX_TESTS=ON", "-DRLX_ADDON=OFF", "-DRLX_QUICK=ON", ...crossArm64],
  },
  windows: {
    folder: "native/build-windows",
    options: ["-DRLX_TESTS=ON", "-DRLX_ADDON=ON", "-DRLX_QUICK=ON", ...crossWindows],
  },
  coreml: {
    source: "native/src/coreml",
    folder: "native/build-coreml",
    options: process.platform === "darwin" ? [] : againstDouble(),
    output: "native/build-coreml/rlx_coreml.node",
  },
  coremlSanitize: {
    source: "native/src/coreml",
    folder: "native/build-coreml-sanitize",
    options: [...againstDouble(), "-DRLX_SANITIZE=ON", "-DRLX_SANITIZE_ADDON=ON"],
  },
};

/** Where a build lies. A Mac builds for the other architecture in a folder beside it. */
export const nativeFolder = (name, arch = process.arch) =>
  arch === process.arch ? nativeBuilds[name].folder : `${nativeBuilds[name].folder}-${arch}`;

/** What makes CMake compile for another architecture than this machine's. */
function crossOptions(arch) {
  if (arch === process.arch) return [];
  const name = arch === "x64" ? "x86_64" : arch;
  return ["-DCMAKE_SYSTEM_NAME=Darwin", `-DCMAKE_SYSTEM_PROCESSOR=${name}`, `-DCMAKE_OSX_ARCHITECTURES=${name}`];
}

/**
 * Where ccache is installed, a fresh clone takes what this machine has compiled before. Paths below the repository do not
 * count, nor does when a file was written. A launcher that the environment names stays.
 */
function compilerCache() {
  if (process.env["CMAKE_CXX_COMPILER_LAUNCHER"] !== undefined || !hasProgram("ccache"))
    return { options: [], env: {} };
  return {
    options: ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"],
    env: {
      CCACHE_BASEDIR: root,
      CCACHE_NOHASHDIR: "1",
      CCACHE_SLOPPINESS: "time_macros,include_file_mtime,include_file_ctime,pch_defines",
    },
  };
}

/** Builds one configuration; gives undefined, or the reason why it could not. */
export async function buildNative(name, { force = false, arch = process.arch } = {}) {
  const { source = "native", target, options: said, mlx: wants } = nativeBuilds[name];
  if (arch !== process.arch && process.platform !== "darwin") return `${process.arch} builds for ${arch} on a Mac only`;
  const folder = nativeFolder(name, arch);
  const output = (nativeBuilds[name].output ?? folder).replace(nativeBuilds[name].folder, folder);
  const fixed = [...said, ...crossOptions(arch)];
  if (!existsSync(join(root, "native/CMakeLists.txt"))) return "native/CMakeLists.txt does not exist";
  const mlx = wants && findMlx();
  if (wants === "needed" && !mlx) return `MLX was not found: looked at ${MLX_PLACES}`;
  const options = mlx ? [...fixed, "-DRLX_MLX=ON", `-DRLX_MLX_DIR=${mlx}`] : fixed;
  const stamp = `native-${name}${arch === process.arch ? "" : `-${arch}`}`;
  const key = keyOf(["native", "package-lock.json"], [process.platform, process.arch, ...options]);
  if (!force && isFresh(stamp, key, [output])) return undefined;
  forget(stamp);
  const cmake = findCmake();
  if (!cmake) return "CMake is missing";
  const lacking = options.includes("-DRLX_COREML_DOUBLE=ON")
    ? lacksDouble()
    : !findCompiler() && "a C++20 compiler is missing";
  if (lacking) return lacking;

  const cache = compilerCache();
  const configured = existsSync(join(root, folder, "CMakeCache.txt"));
  const generator = !configured && hasProgram("ninja") ? ["-G", "Ninja"] : [];
  const setUp = ["-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", ...generator, ...cache.options, ...options];
  const configuration = await runCaptured(cmake, setUp);
  if (configuration.code !== 0) return `CMake could not configure:\n${configuration.output.trim()}`;
  const jobs = process.env["RLX_NATIVE_JOBS"] ?? String(availableParallelism());
  const part = target ? ["--target", target] : [];
  const built = await runCaptured(cmake, ["--build", folder, "--parallel", jobs, ...part], { env: cache.env });
  if (built.code !== 0) return `the compiler stopped:\n${built.output.trim().split("\n").slice(-60).join("\n")}`;
  markFresh(stamp, key);
  return undefined;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const names = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));
  for (const name of names.length > 0 ? names : ["addon"]) {
    if (!(name in nativeBuilds)) {
      console.error(`build:native: unknown target ${name}, have ${Object.keys(nativeBuilds).join(", ")}`);
      process.exit(2);
    }
    const problem = await buildNative(name, { force: process.argv.includes("--force") });
    if (problem) console.error(`native ${name}: ${problem}`);
    if (problem) process.exit(1);
  }
}
