// Finds what this machine has: programs, browsers, Electron's runtime. scripts/setup.mjs installs.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { hasProgram, root } from "./process.mjs";
import { findWine } from "./wine.mjs";

const onWindows = process.platform === "win32";
export const venvProgram = (name) => join(root, ".venv", onWindows ? `Scripts/${name}.exe` : `bin/${name}`);

export const canUseApt = () =>
  process.platform === "linux" &&
  process.getuid?.() === 0 &&
  existsSync("/etc/debian_version") &&
  hasProgram("apt-get");

/** The system's CMake, or the one from PyPI in .venv. */
export function findCmake() {
  if (hasProgram("cmake")) return "cmake";
  return existsSync(venvProgram("cmake")) ? venvProgram("cmake") : undefined;
}

export const findCompiler = () =>
  [process.env["CXX"], "c++", "g++", "clang++"].find((name) => name && hasProgram(name));

export const MLX_PLACES = "MLX_DIR, .venv (pip install mlx, or mlx[cpu] outside macOS) and Homebrew (brew install mlx)";

/** The folder that holds MLX's headers and library. */
export function findMlx() {
  const lib = join(root, ".venv/lib");
  const venvs = existsSync(lib) ? readdirSync(lib).map((python) => join(lib, python, "site-packages/mlx")) : [];
  const places = [process.env["MLX_DIR"], ...venvs, "/opt/homebrew/opt/mlx", "/usr/local/opt/mlx"];
  const library = process.platform === "darwin" ? "libmlx.dylib" : "libmlx.so";
  return places.find(
    (place) => place && existsSync(join(place, "include/mlx/mlx.h")) && existsSync(join(place, "lib", library)),
  );
}

/** The clang that compiles Objective-C against the double of Core ML. */
export const findClang = () => ["clang++-19"].find((name) => hasProgram(name));
export const findClangFormat = () => ["clang-format-19"].find((name) => hasProgram(name));
export const findClangTidy = () => ["clang-tidy-19"].find((name) => hasProgram(name));
export const canHaveDouble = () => process.platform === "linux" && process.arch === "x64";
/** Why the double of Core ML cannot be built here, or undefined. */
export const lacksDouble = () =>
  canHaveDouble()
    ? findClang()
      ? undefined
      : "no clang++-19 (Debian: clang-19 and libclang-rt-19-dev)"
    : "the double of Core ML runs on x86-64 Linux only";

const chromiumPlaces = [
  // The same engine without a browser's own window, which costs each page a second of a processor.
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];
/**
 * A Chromium for the tests of the window; RLX_CHROMIUM names another one.
 * @returns {string | undefined}
 */
export const findChromium = () =>
  [process.env["RLX_CHROMIUM"], ...chromiumPlaces].find((path) => path && existsSync(path));

/** Where Electron's runtime would be. Never `require("electron")`: outside Electron that starts a download. */
export function electronBinary() {
  const folder = dirname(createRequire(import.meta.url).resolve("electron/package.json"));
  const named = join(folder, "path.txt");
  const usual =
    { darwin: "Electron.app/Contents/MacOS/Electron", win32: "electron.exe" }[process.platform] ?? "electron";
  const relative = existsSync(named) ? readFileSync(named, "utf8") : usual;
  return join(process.env["ELECTRON_OVERRIDE_DIST_PATH"] ?? join(folder, "dist"), relative);
}
export const hasElectron = () => existsSync(electronBinary());

/** Cross compiler and emulator for the NEON kernels; on an arm64 machine the kernels run natively. */
export const hasArm64Emulation = () => hasProgram("aarch64-linux-gnu-g++") && hasProgram("qemu-aarch64");

/** The compiler for Windows, with the threads of C++20. */
export const MINGW = "x86_64-w64-mingw32-g++-posix";
export const canEmulateWindows = () => process.platform === "linux" && process.arch === "x64";
export const hasWindowsEmulation = () => hasProgram(MINGW) && findWine() !== undefined;
