/**
 * Packages the app against a stub of Electron (its binary is not here) and looks into the result: what is in the archive, what is
 * beside it, what the Mac bundle says of itself. Fuses and signing need the real binary and are left out of the stub's config;
 * `packaging.test.ts` reads what they are.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nativeParts } from "../scripts/stageNative.mjs";

const exec = promisify(execFile);
const root = fileURLToPath(new URL("../", import.meta.url));
const require = createRequire(import.meta.url);
/** asar is a dependency of electron-builder's own library. */
const builder = createRequire(require.resolve("electron-builder/package.json"));
const asar = createRequire(builder.resolve("app-builder-lib/package.json"))("@electron/asar") as {
  createPackage(from: string, to: string): Promise<void>;
  listPackage(archive: string, options: object): string[];
};
const yaml = createRequire(builder.resolve("app-builder-lib/package.json"))("js-yaml") as {
  load(text: string): Readonly<Record<string, unknown>>;
};

let work: string;
const HELPERS = ["Electron Helper", "Electron Helper (GPU)", "Electron Helper (Plugin)", "Electron Helper (Renderer)"];

const plist = (name: string, executable: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd"><plist version="1.0"><dict><key>CFBundleExecutable</key><string>${executable}</string><key>CFBundleIdentifier</key><string>stub.${name.replaceAll(/\W/g, "")}</string><key>CFBundleName</key><string>${name}</string><key>CFBundlePackageType</key><string>APPL</string></dict></plist>`;

async function stubLinux(folder: string): Promise<void> {
  await mkdir(join(folder, "resources"), { recursive: true });
  await mkdir(join(folder, "locales"));
  for (const name of ["electron", "chrome-sandbox", "chrome_crashpad_handler"])
    await writeFile(join(folder, name), "#!/bin/sh\n", { mode: 0o755 });
  for (const name of ["version", "LICENSE", "LICENSES.chromium.html", "locales/en-US.pak"])
    await writeFile(join(folder, name), "45.3.4");
  const empty = join(folder, "..", "default-app");
  await mkdir(empty, { recursive: true });
  await writeFile(join(empty, "main.js"), "");
  await asar.createPackage(empty, join(folder, "resources", "default_app.asar"));
}

async function stubMac(folder: string): Promise<void> {
  const bundle = async (path: string, name: string): Promise<void> => {
    await mkdir(join(path, "Contents", "MacOS"), { recursive: true });
    await writeFile(join(path, "Contents", "Info.plist"), plist(name, name));
    await writeFile(join(path, "Contents", "MacOS", name), "#!/bin/sh\n", { mode: 0o755 });
  };
  const app = join(folder, "Electron.app");
  await bundle(app, "Electron");
  await mkdir(join(app, "Contents", "Resources"), { recursive: true });
  await writeFile(join(app, "Contents", "Resources", "electron.icns"), "");
  for (const helper of HELPERS) await bundle(join(app, "Contents", "Frameworks", `${helper}.app`), helper);
  for (const name of ["version", "LICENSE", "LICENSES.chromium.html"]) await writeFile(join(folder, name), "45.3.4");
}

type Target = "linux-x64" | "mac-arm64" | "mac-x64";

/** Stands in for the output of scripts/stageNative.mjs: the right names, no code. */
async function stageStubs(target: Target): Promise<string> {
  const [os, arch] = target.split("-");
  const folder = join(work, "prebuilt", target);
  await mkdir(folder, { recursive: true });
  const parts = nativeParts(os === "mac" ? "darwin" : "linux", arch ?? "", { mlx: "/mlx" });
  for (const path of parts.flatMap(({ from }) => from)) await writeFile(join(folder, basename(path)), "");
  return folder;
}

async function build(target: Target, dist: string): Promise<string> {
  const [platform = "", arch = ""] = target.split("-");
  const output = join(work, `out-${target}`);
  const shipped = yaml.load(await readFile(join(root, "electron-builder.yml"), "utf8"));
  const config = join(work, `${target}.json`);
  // Making an .icns of our PNG needs a tool that electron-builder downloads, so the stub brings one that is ready.
  const icon = join(work, "icon.icns");
  await writeFile(icon, Uint8Array.of(0x69, 0x63, 0x6e, 0x73, 0, 0, 0, 8));
  const mac = { ...(shipped["mac"] as object), icon, identity: null };
  const directories = { ...(shipped["directories"] as object), output };
  const staged = await stageStubs(target);
  const extraResources = (shipped["extraResources"] as readonly { readonly from: string }[]).map((resource) =>
    resource.from.startsWith("native/") ? { ...resource, from: staged } : resource,
  );
  const stubbed = { electronFuses: null, beforePack: null, publish: null, extraResources };
  await writeFile(config, JSON.stringify({ ...shipped, ...stubbed, electronDist: dist, directories, mac }));
  await exec(
    process.execPath,
    [
      join(root, "node_modules/electron-builder/cli.js"),
      `--${platform}`,
      "--dir",
      `--${arch}`,
      "--publish=never",
      `--config=${config}`,
    ],
    { cwd: root, env: { ...process.env, CSC_IDENTITY_AUTO_DISCOVERY: "false" }, timeout: 300_000 },
  ).catch((error: unknown) => {
    const { message, stdout } = error as { readonly message: string; readonly stdout?: string };
    throw new Error(`${message}\n${stdout ?? ""}`);
  });
  return output;
}

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "packaging-"));
  for (const needed of ["out/main/index.js", "out/engine/index.js", "out/renderer/index.html"])
    if (!existsSync(join(root, needed))) throw new Error(`${needed} is not built; run npm run build first`);
});
afterAll(() => rm(work, { recursive: true, force: true }));

function expectArchive(archive: string): void {
  const files = asar.listPackage(archive, { isPack: false }).map((file) => file.replaceAll("\\", "/"));
  for (const wanted of [
    "/out/main/index.js",
    "/out/engine/index.js",
    "/out/preload/index.cjs",
    "/out/renderer/index.html",
    "/out/renderer/third-party-licenses.txt",
    "/out/engine/third-party-licenses.txt",
    "/package.json",
  ])
    expect(files).toContain(wanted);
  expect(
    files.filter(
      (file) =>
        file.includes("node_modules") || file.endsWith(".map") || file.endsWith(".ts") || file.endsWith(".node"),
    ),
  ).toEqual([]);
}

function expectBeside(resources: string, native: readonly string[]): void {
  expect(readdirSync(join(resources, "native")).sort()).toEqual([...native].sort());
  expect(readdirSync(join(resources, "models"))).toEqual(["rlx-sample.gguf"]);
  for (const name of ["LICENSE", "NOTICE"]) expect(existsSync(join(resources, name)), name).toBe(true);
}

const ON_MAC = ["rlx.node", "rlx_coreml.node", "rlx-coreml-trial"];
const MLX = ["rlx_mlx.node", "libmlx.dylib", "mlx.metallib", "mlx.txt"];

describe("the package", () => {
  it("for Linux holds the program in its archive and native code beside it", async () => {
    const dist = join(work, "stub-linux");
    await stubLinux(dist);
    const resources = join(await build("linux-x64", dist), "linux-unpacked", "resources");
    expectArchive(join(resources, "app.asar"));
    expectBeside(resources, ["rlx.node"]);
  });

  it.each([
    ["mac-arm64", "mac-arm64", [...ON_MAC, ...MLX]],
    ["mac-x64", "mac", ON_MAC],
  ] as const)("for %s says what it opens and needs, and carries every native part", async (target, folder, native) => {
    const dist = join(work, "stub-mac");
    if (!existsSync(dist)) await stubMac(dist);
    const contents = join(await build(target, dist), folder, "RLX Workbench.app", "Contents");
    expectArchive(join(contents, "Resources", "app.asar"));
    expectBeside(join(contents, "Resources"), native);
    const info = await readFile(join(contents, "Info.plist"), "utf8");
    for (const text of [
      "<string>gguf</string>",
      "<string>Alternate</string>",
      "<string>Viewer</string>",
      "public.app-category.developer-tools",
      "ElectronAsarIntegrity",
      "<key>LSMinimumSystemVersion</key>\n    <string>14.0</string>",
    ])
      expect(info).toContain(text);
    expect(existsSync(join(contents, "Frameworks", "RLX Workbench Helper (Renderer).app"))).toBe(true);
  });
});
