// Everything a fresh clone needs, in order, each step once: node scripts/setup.mjs [--all] [--strict]
//   without options  what `npm start` needs: packages, native engine
//   --all            also what the tests need: Python oracles, llama.cpp, Chromium, arm64 emulation, Windows
//   --strict         a missing optional part is a failure (npm test with CI=true)
// A step says in one line what it does; one that was done before says nothing.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  canEmulateWindows,
  canHaveDouble,
  canUseApt,
  findChromium,
  findClang,
  findClangFormat,
  findClangTidy,
  findCmake,
  findCompiler,
  findMlx,
  hasArm64Emulation,
  hasWindowsEmulation,
  venvProgram,
} from "./lib/environment.mjs";
import { hasProgram, root, runCaptured } from "./lib/process.mjs";
import { isFresh, keyOf, markFresh } from "./lib/stamp.mjs";

const say = (text) => console.error(`setup: ${text}`);
const lastLines = (text, count = 15) => text.trim().split("\n").slice(-count).join("\n");
const npm = process.platform === "win32" ? "npm.cmd" : "npm";

/** One at a time: apt does not wait for the lock of the package lists. */
let installing = Promise.resolve();
function installWithApt(...packages) {
  const mine = installing.then(() => aptInstall(packages));
  installing = mine.catch(() => undefined);
  return mine;
}

async function aptInstall(packages) {
  const options = ["-y", "-q", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends"];
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  const install = () => runCaptured("apt-get", ["install", ...options, ...packages], { env });
  let result = await install();
  if (result.code !== 0) {
    // A fresh machine may have no package lists yet.
    await runCaptured("apt-get", ["update", "-q", "-o", "DPkg::Lock::Timeout=300"], { env });
    result = await install();
  }
  return result.code === 0
    ? undefined
    : `apt-get could not install ${packages.join(" ")}:\n${lastLines(result.output)}`;
}

async function checkNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return undefined;
  return `Node ${process.versions.node} is too old: 20.19 or later is needed`;
}

async function installPackages() {
  const key = keyOf(["package-lock.json"], [process.platform, process.arch]);
  if (isFresh("packages", key, ["node_modules/.package-lock.json"])) return undefined;
  if (existsSync(join(root, "node_modules/.package-lock.json"))) {
    // Installed by hand: accepted if npm has no complaint.
    const listed = await runCaptured(npm, ["ls", "--depth=0", "--loglevel=silent"]);
    if (listed.code === 0) {
      markFresh("packages", key);
      return undefined;
    }
  }
  say("installing the npm packages (about half a minute)");
  const { code, output } = await runCaptured(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
  if (code !== 0) return `npm ci failed:\n${lastLines(output)}`;
  markFresh("packages", key);
  return undefined;
}

async function prepareCompiler() {
  if (findCmake() && findCompiler()) return undefined;
  if (canUseApt()) {
    say("installing a C++ compiler, CMake and Ninja");
    const problem = await installWithApt("g++", "cmake", "ninja-build");
    if (!problem && findCmake() && findCompiler()) return undefined;
  }
  if (!findCompiler()) {
    const how = process.platform === "darwin" ? "xcode-select --install" : "install g++ or clang++";
    return `no C++ compiler (${how})`;
  }
  if (!(await makeVenv())) {
    say("installing CMake from PyPI into .venv");
    await runCaptured(venvProgram("python"), ["-m", "pip", "install", "-q", "cmake==4.1.0"]);
  }
  return findCmake() ? undefined : "no CMake (install it with your system's package manager)";
}

/** Compilers are asked through it where it is there, so that a second clone compiles nothing again. */
async function prepareCompilerCache() {
  if (!canUseApt() || hasProgram("ccache")) return undefined;
  say("installing ccache");
  return installWithApt("ccache");
}

async function buildEngine() {
  if (!findCompiler() || !findCmake()) return "no C++ compiler with CMake";
  const { buildNative, nativeBuilds } = await import("./buildNative.mjs");
  if (!existsSync(join(root, nativeBuilds.addon.output))) say("building the native engine (about a minute)");
  return buildNative("addon");
}

function findPython() {
  const isSupported = (name) =>
    hasProgram(name, ["-c", "import sys; sys.exit(0 if (3, 10) <= sys.version_info[:2] <= (3, 13) else 1)"]);
  return ["python3", "python3.13", "python3.12", "python3.11", "python3.10", "python"].find(isSupported);
}

/** Debian's venv without ensurepip leaves a folder with a Python and no pip: that one is made again. */
const hasVenv = () =>
  existsSync(venvProgram("python")) && hasProgram(venvProgram("python"), ["-m", "pip", "--version"]);

/** Makes .venv; gives undefined, or why it could not. */
async function makeVenv() {
  if (hasVenv()) return undefined;
  const create = async () => {
    const python = findPython();
    if (!python) return "no Python 3.10 to 3.13";
    const { code, output } = await runCaptured(python, ["-m", "venv", "--clear", ".venv"]);
    return code === 0 ? undefined : lastLines(output);
  };
  const problem = await create();
  if (!problem || !canUseApt()) return problem;
  return (await installWithApt("python3", "python3-venv")) ?? create();
}

async function preparePython() {
  const key = keyOf(["python/requirements.txt"], [process.platform]);
  if (isFresh("python", key, [".venv"])) return undefined;
  say("installing the Python oracles into .venv (about a minute)");
  const problem = await makeVenv();
  if (problem) return problem;
  const install = [
    "-m",
    "pip",
    "install",
    "-q",
    "--no-input",
    "--disable-pip-version-check",
    // Python compiles modules on import; only a small part is ever imported.
    "--no-compile",
    "-r",
    "python/requirements.txt",
  ];
  const { code, output } = await runCaptured(venvProgram("python"), install);
  if (code !== 0) return `pip failed:\n${lastLines(output)}`;
  markFresh("python", key);
  return undefined;
}

async function preparePeers() {
  const key = keyOf(["bench/peers/package-lock.json"], [process.platform, process.arch]);
  if (isFresh("peers", key, ["bench/peers/node_modules/.package-lock.json"])) return undefined;
  say("installing llama.cpp (node-llama-cpp) into bench/peers");
  // Its scripts would look for a compiler or a download; the library is in the package.
  const options = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const { code, output } = await runCaptured(npm, options, { cwd: join(root, "bench/peers") });
  if (code !== 0) return `npm ci failed:\n${lastLines(output)}`;
  markFresh("peers", key);
  return undefined;
}

async function prepareChromium() {
  if (findChromium()) return undefined;
  if (!canUseApt()) return "no Chromium found (install one, or name it in RLX_CHROMIUM)";
  say("installing Chromium");
  return installWithApt("chromium-headless-shell");
}

async function prepareArm64() {
  if (process.arch === "arm64" || hasArm64Emulation()) return undefined;
  if (!canUseApt()) return "no aarch64-linux-gnu-g++ with qemu-aarch64 (the NEON kernels are not run here)";
  say("installing a cross compiler and an emulator for arm64");
  return installWithApt("g++-aarch64-linux-gnu", "qemu-user");
}

async function prepareWindows() {
  if (!canEmulateWindows() || hasWindowsEmulation()) return undefined;
  if (!canUseApt()) return "no mingw-w64 with Wine (the Windows side of the engine is not compiled and run here)";
  say("installing a cross compiler for Windows, and Wine");
  return installWithApt("g++-mingw-w64-x86-64-posix", "wine64");
}

async function prepareClangTools() {
  if (findClangFormat() && findClangTidy()) return undefined;
  if (!canUseApt()) return "no clang-format-19 with clang-tidy-19 (the form of C++ is not checked here)";
  say("installing clang-format and clang-tidy");
  return installWithApt("clang-format-19", "clang-tidy-19");
}

async function prepareClang() {
  if (!canHaveDouble() || findClang()) return undefined;
  if (!canUseApt()) return "no clang++-19 (the Core ML bridge is not compiled and run here)";
  say("installing clang for the Core ML bridge");
  return installWithApt("clang-19", "libclang-rt-19-dev");
}

const onAppleSilicon = process.platform === "darwin" && process.arch === "arm64";

/** The pinned MLX, from its wheel, where neither .venv nor Homebrew has one. */
async function installMlx() {
  if (findMlx()) return undefined;
  const pinned = /^mlx==[\d.]+(?=; sys_platform == "darwin")/m.exec(
    readFileSync(join(root, "python/requirements.txt"), "utf8"),
  )?.[0];
  say(`installing ${pinned} from PyPI into .venv`);
  const problem = await makeVenv();
  if (problem) return problem;
  const install = ["-m", "pip", "install", "-q", "--no-input", "--disable-pip-version-check", pinned];
  const { code, output } = await runCaptured(venvProgram("python"), install);
  return code === 0 ? undefined : `pip failed:\n${lastLines(output)}`;
}

/** Over the MLX that is in .venv or comes from Homebrew; on Apple silicon it is installed when there is none. */
async function buildMlx() {
  const { buildNative, nativeBuilds } = await import("./buildNative.mjs");
  const problem = onAppleSilicon ? await installMlx() : undefined;
  if (problem) return problem;
  if (!existsSync(join(root, nativeBuilds.mlx.output))) say("building the MLX engine (about a minute)");
  return buildNative("mlx");
}

/** The bridge itself on a Mac; elsewhere the same source over the double, for the tests. */
async function buildCoreml() {
  const { buildNative } = await import("./buildNative.mjs");
  return buildNative("coreml");
}

/**
 * Rounds in order; in a round lists of steps run side by side, because some wait for a registry and some for the compiler.
 * `needed`: without it nothing works; `always`: also for `npm start`.
 */
const rounds = [
  [[{ name: "Node", needed: true, always: true, act: checkNode }]],
  [[{ name: "npm packages", needed: true, always: true, act: installPackages }]],
  [[{ name: "compiler", always: true, act: prepareCompiler }]],
  [[{ name: "compiler cache", act: prepareCompilerCache }]],
  [
    [{ name: "native engine", always: true, act: buildEngine }],
    [
      { name: "Python oracles", act: preparePython },
      { name: "llama.cpp", act: preparePeers },
    ],
    [
      { name: "Chromium", act: prepareChromium },
      { name: "arm64 emulation", act: prepareArm64 },
      { name: "Windows emulation", act: prepareWindows },
      { name: "clang", act: prepareClang },
      { name: "clang tools", act: prepareClangTools },
    ],
  ],
  // In the native engine's folder, with the MLX that came with the oracles.
  [[{ name: "MLX engine", always: onAppleSilicon, act: buildMlx }]],
  [[{ name: "Core ML bridge", always: process.platform === "darwin", act: buildCoreml }]],
];

/** Prints a line every half minute, so that a slow step does not seem to hang. Returns the stop. */
function sayWhileItTakes(name) {
  const began = Date.now();
  const timer = setInterval(
    () => say(`${name}: still at work after ${Math.round((Date.now() - began) / 1000)} s`),
    30_000,
  );
  return () => clearInterval(timer);
}

/** Does one step; gives why it is not available, or undefined. Throws when it is needed. */
async function doStep({ name, needed, act }) {
  const done = sayWhileItTakes(name);
  const reason = await act().finally(done);
  if (!reason) return undefined;
  if (needed) throw new Error(`${name}: ${reason}`);
  say(`${name} not available: ${reason}`);
  return { name, reason };
}

async function doList(steps) {
  const missing = [];
  for (const step of steps) missing.push(await doStep(step));
  return missing;
}

/** Runs the steps; gives what is not available with its reason. Throws when a needed step fails. */
export async function setup({ all = false } = {}) {
  const missing = [];
  for (const lists of rounds) {
    const wanted = lists.map((steps) => steps.filter(({ always }) => all || always));
    missing.push(...(await Promise.all(wanted.map(doList))).flat());
  }
  return missing.filter((step) => step !== undefined);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    const missing = await setup({ all: process.argv.includes("--all") });
    if (missing.length === 0) say("ready");
    process.exit(missing.length > 0 && process.argv.includes("--strict") ? 1 : 0);
  } catch (error) {
    say(error.message);
    process.exit(1);
  }
}
