/** Where Electron's runtime would be. Never `require("electron")`: since version 42 that starts a download. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

export function electronBinary(): { readonly path: string; readonly exists: boolean } {
  const folder = dirname(createRequire(import.meta.url).resolve("electron/package.json"));
  const named = join(folder, "path.txt");
  const inside = existsSync(named)
    ? readFileSync(named, "utf8")
    : process.platform === "darwin"
      ? "Electron.app/Contents/MacOS/Electron"
      : "electron";
  const path = join(process.env["ELECTRON_OVERRIDE_DIST_PATH"] ?? join(folder, "dist"), inside);
  return { path, exists: existsSync(path) };
}
