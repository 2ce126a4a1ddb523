// Collects the native parts of one target in native/prebuilt/<os>-<arch>: what the installed application and the packed
// library carry. electron-builder calls `beforePack` for each target; `node scripts/stageNative.mjs` does it for this machine.
import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildNative, nativeFolder } from "./buildNative.mjs";
import { findMlx } from "./lib/environment.mjs";
import { root } from "./lib/process.mjs";

const OS = { darwin: "mac", linux: "linux", win32: "win" };
export const stagedFolder = (platform, arch) => join("native/prebuilt", `${OS[platform]}-${arch}`);

/**
 * What a target carries: `build` makes it, `from` is where it then lies. MLX runs on Apple silicon only; its library is
 * shipped beside the addon, which looks there (@loader_path) when the folder it was built with is not on this machine.
 */
export function nativeParts(platform, arch, { mlx = findMlx() } = {}) {
  const engine = { build: "addon", from: [join(nativeFolder("addon", arch), "rlx.node")] };
  if (platform !== "darwin") return [engine];
  const bridge = nativeFolder("coreml", arch);
  const parts = [
    engine,
    { build: "coreml", from: ["rlx_coreml.node", "rlx-coreml-trial"].map((n) => join(bridge, n)) },
  ];
  if (arch !== "arm64") return parts;
  const library = ["libmlx.dylib", "mlx.metallib"].map((name) => join(mlx ?? "lib-of-mlx", "lib", name));
  const addon = join(nativeFolder("mlx", arch), "rlx_mlx.node");
  return [...parts, { build: "mlx", from: [addon, ...library, "assets/licenses/mlx.txt"] }];
}

/** Builds and copies; throws with the reason when a part cannot be had. */
export async function stageNative({ platform = process.platform, arch = process.arch } = {}) {
  if (platform !== process.platform)
    throw new Error(`native parts for ${OS[platform]} are built on ${OS[platform]}, not on ${OS[process.platform]}`);
  const folder = join(root, stagedFolder(platform, arch));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { build, from } of nativeParts(platform, arch)) {
    const problem = await buildNative(build, { arch });
    if (problem) throw new Error(`${build} for ${arch}: ${problem}`);
    for (const path of from) {
      // MLX's folder is absolute, ours are relative to the repository.
      const source = [path, join(root, path)].find((place) => existsSync(place));
      if (!source) throw new Error(`${path} is missing`);
      copyFileSync(source, join(folder, basename(path)));
    }
  }
  return folder;
}

/** electron-builder's numbers for architectures that we ship. */
const ARCHITECTURES = { 1: "x64", 3: "arm64" };
export async function beforePack({ electronPlatformName, arch }) {
  const name = ARCHITECTURES[arch];
  if (!name) throw new Error(`no native parts for architecture ${arch}`);
  await stageNative({ platform: electronPlatformName, arch: name });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    console.error(`staged ${await stageNative()}`);
  } catch (error) {
    console.error(`stage: ${error.message}`);
    process.exit(1);
  }
}
