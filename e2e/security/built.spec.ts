/** Static checks of what is shipped: the built shell, preload and page say what the security page promises. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@playwright/test";

const out = fileURLToPath(new URL("../../out", import.meta.url));
const read = (...parts: readonly string[]): string => readFileSync(join(out, ...parts), "utf8");

test("the shell writes out every window setting that matters", () => {
  const shell = read("main", "index.js");
  for (const setting of [
    /contextIsolation:\s*(true|!0)/,
    /sandbox:\s*(true|!0)/,
    /nodeIntegration:\s*(false|!1)/,
    /webSecurity:\s*(true|!0)/,
    /webviewTag:\s*(false|!1)/,
  ])
    expect(shell).toMatch(setting);
  for (const name of [
    "setWindowOpenHandler",
    "will-navigate",
    "will-redirect",
    "will-frame-navigate",
    "will-attach-webview",
    "setPermissionRequestHandler",
    "setPermissionCheckHandler",
    "enableSandbox",
  ])
    expect(shell).toContain(name);
  expect(shell).not.toContain("loadFile(");
  expect(shell).not.toMatch(/nodeIntegration:\s*(true|!0)/);
});

test("the preload is one CommonJS file with no dependency and no raw ipcRenderer", () => {
  const preload = read("preload", "index.cjs");
  expect(statSync(join(out, "preload", "index.cjs")).size).toBeLessThan(8192);
  expect([...preload.matchAll(/require\(["'`]([^"'`]+)["'`]\)/g)].map((match) => match[1])).toEqual(["electron"]);
  expect(preload).not.toMatch(/exposeInMainWorld\([^)]*ipcRenderer/);
});

test("the page loads only its own files", () => {
  const page = read("renderer", "index.html");
  expect(page).not.toMatch(/(src|href)="(https?:)?\/\//);
  expect(page).not.toMatch(/<script(?![^>]*\bsrc=)[^>]*>/);
  for (const file of readdirSync(join(out, "renderer"), { recursive: true, encoding: "utf8" }))
    if (file.endsWith(".js") && !file.includes("worker") && !file.includes("monaco"))
      expect(read("renderer", file), file).not.toMatch(/\bnew Function\(|[^.\w]eval\(/);
});
