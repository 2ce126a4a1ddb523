/** Electron's main process: lifecycle and wiring. Models, graphs and kernels live in the engine's own process. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { WebContents } from "electron";
import { app, BrowserWindow, ipcMain, Menu, protocol, session } from "electron";
import { CHANNELS } from "../channels.ts";
import { createEngineHost } from "./engineHost.ts";
import { menuTemplate } from "./menu.ts";
import { createOpenFiles, filesOf } from "./openFiles.ts";
import { handleProtocol, registerScheme } from "./protocol.ts";
import { handleRequests } from "./requests.ts";
import { hardenApp, hardenSession } from "./security.ts";
import { createWindow } from "./window.ts";

/** out/main, beside out/engine, out/preload and out/renderer. */
const here = dirname(fileURLToPath(import.meta.url));
const inOut = (...parts: readonly string[]): string => join(here, "..", ...parts);

const files = createOpenFiles();
let started = false;
app.on("open-file", (event, path) => {
  event.preventDefault();
  files.open(path);
  showWindowIfNone();
});
hardenApp(app);
registerScheme(protocol);

function focusedPage(): WebContents | undefined {
  return (BrowserWindow.getFocusedWindow() ?? BrowserWindow.getAllWindows()[0])?.webContents;
}

function showWindow(): void {
  const window = createWindow(inOut("preload", "index.cjs"));
  window.webContents.once("did-finish-load", () =>
    files.deliverTo((path) => (focusedPage() ?? window.webContents).send(CHANNELS.openFile, path)),
  );
  window.once("closed", () => {
    if (BrowserWindow.getAllWindows().every((other) => other === window)) files.hold();
  });
}

/** A Mac keeps the app when its last window is closed. Before the start there is a window to come anyway. */
function showWindowIfNone(): void {
  if (started && BrowserWindow.getAllWindows().length === 0) showWindow();
}

function start(): void {
  const engine = createEngineHost(inOut("engine", "index.js"), (line) => process.stderr.write(`${line}\n`));
  hardenSession(session.defaultSession);
  handleProtocol(protocol, inOut("renderer"));
  handleRequests(ipcMain, engine);
  Menu.setApplicationMenu(
    Menu.buildFromTemplate(
      menuTemplate((command) => focusedPage()?.send(CHANNELS.command, command), process.platform === "darwin"),
    ),
  );
  for (const path of filesOf(process.argv.slice(1), process.cwd())) files.open(path);
  showWindow();
  started = true;
  app.on("activate", showWindowIfNone);
  app.on("will-quit", () => engine.stop());
}

if (app.requestSingleInstanceLock()) {
  app.on("second-instance", (_event, argv, cwd) => {
    for (const path of filesOf(argv.slice(1), cwd)) files.open(path);
    showWindowIfNone();
    const [window] = BrowserWindow.getAllWindows();
    if (window?.isMinimized() === true) window.restore();
    window?.focus();
  });
  app.on("window-all-closed", () => {
    if (process.platform !== "darwin") app.quit();
  });
  app.whenReady().then(start, (error: unknown) => {
    process.stderr.write(`The workbench could not start: ${String(error)}\n`);
    app.exit(1);
  });
} else app.quit();
