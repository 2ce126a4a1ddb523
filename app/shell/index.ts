/** Electron's main process: lifecycle and wiring. Models, graphs and kernels live in the engine's own process. */
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { app, BrowserWindow, dialog, ipcMain, Menu, protocol, session } from "electron";
import { CHANNELS } from "../channels.ts";
import { createEngineHost } from "./engineHost.ts";
import { createStage } from "./filesOut.ts";
import { dockMenu, menuTemplate } from "./menu.ts";
import type { Channel } from "./mailbox.ts";
import { createMailbox } from "./mailbox.ts";
import { filesOf } from "./openFiles.ts";
import { readOpenWindows, sessionOf, writeOpenWindows } from "./openWindows.ts";
import { handleProtocol, registerScheme } from "./protocol.ts";
import { createQuickAction } from "./quickAction.ts";
import type { QuickAction } from "./quickAction.ts";
import { handleRequests } from "./requests.ts";
import { hardenApp, hardenSession } from "./security.ts";
import { createUpdater } from "./updater.ts";
import { createSettingsWindow, createWindow } from "./window.ts";

/** out/main, beside out/engine, out/preload and out/renderer. */
const here = dirname(fileURLToPath(import.meta.url));
const inOut = (...parts: readonly string[]): string => join(here, "..", ...parts);

const mail = createMailbox();
let started = false;
let ending = false;
app.on("open-file", (event, path) => {
  event.preventDefault();
  sendToWindow(CHANNELS.openFile, path);
});
hardenApp(app);
registerScheme(protocol);

/** Delivers a file or a command to the page. Opens a window if there is none, as on a Mac. */
function sendToWindow(channel: Channel, text: string): void {
  mail.post(channel, text);
  showWindowIfNone();
}

/** Arguments by which Electron was told to run this app. */
const filesNamed = (argv: readonly string[], cwd: string): readonly string[] =>
  filesOf(argv.slice(1), cwd, [app.getAppPath(), inOut("main", "index.js")]);

/** The session of each window. The settings have a window without one. */
const sessions = new Map<BrowserWindow, string>();
let settings: BrowserWindow | undefined;

/** Where files and commands go, also while the settings are in front. */
function workWindow(): BrowserWindow | undefined {
  const front = BrowserWindow.getFocusedWindow();
  return front !== null && sessions.has(front) ? front : sessions.keys().next().value;
}

function bringToFront(window: BrowserWindow | undefined): void {
  if (window?.isMinimized() === true) window.restore();
  window?.focus();
}

function showSettings(): void {
  if (settings !== undefined) {
    bringToFront(settings);
    return;
  }
  const window = createSettingsWindow(inOut("preload", "index.cjs"));
  window.once("closed", () => (settings = undefined));
  settings = window;
}

const listOfWindows = (): string => join(app.getPath("userData"), "windows.json");

function noteSession(window: BrowserWindow, session: string): void {
  sessions.set(window, session);
  writeOpenWindows(listOfWindows(), [...sessions.values()]);
}

function showWindow(session: string = randomUUID()): void {
  const window = createWindow(inOut("preload", "index.cjs"), session);
  noteSession(window, session);
  window.webContents.on("did-navigate-in-page", (_event, url) => {
    const now = sessionOf(url);
    if (now !== undefined && now !== sessions.get(window)) noteSession(window, now);
  });
  window.webContents.once("did-finish-load", () =>
    mail.deliverTo((channel, text) => (workWindow() ?? window).webContents.send(channel, text)),
  );
  window.once("closed", () => {
    sessions.delete(window);
    // The last window is what a next start goes on with.
    if (sessions.size > 0 && !ending) writeOpenWindows(listOfWindows(), [...sessions.values()]);
    if (sessions.size > 0) return;
    mail.hold();
    // Elsewhere the app ends with its last window.
    if (process.platform !== "darwin") settings?.close();
  });
}

/** A Mac keeps the app after its last window closed. Before the start, a window follows anyway. */
function showWindowIfNone(): void {
  if (started && sessions.size === 0) showWindow();
}

const quickActionHere = (): QuickAction | null =>
  process.platform === "darwin" ? createQuickAction(app.getPath("home")) : null;

function start(): void {
  const engine = createEngineHost(inOut("engine", "index.js"), (line) => process.stderr.write(`${line}\n`));
  hardenSession(session.defaultSession);
  handleProtocol(protocol, inOut("renderer"));
  const staged = createStage(app.getPath("temp"));
  handleRequests(ipcMain, {
    ...{ engine, stage: staged.add, openSettings: showSettings },
    quickAction: quickActionHere(),
  });
  const command = (name: string): void => sendToWindow(CHANNELS.command, name);
  const checkForUpdates = createUpdater({
    installed: app.isPackaged,
    version: app.getVersion(),
    load: async () => (await import("electron-updater")).autoUpdater,
    ask: async (options) => (await dialog.showMessageBox(options)).response,
  });
  const menu = menuTemplate(command, {
    mac: process.platform === "darwin",
    checkForUpdates: () => void checkForUpdates(),
    newWindow: () => showWindow(),
    openSettings: showSettings,
  });
  Menu.setApplicationMenu(Menu.buildFromTemplate(menu));
  // Only a Mac has a Dock.
  app.dock?.setMenu(Menu.buildFromTemplate(dockMenu(command, () => showWindow())));
  for (const path of filesNamed(process.argv, process.cwd())) mail.post(CHANNELS.openFile, path);
  const before = readOpenWindows(listOfWindows());
  if (before.length === 0) showWindow();
  else for (const session of before) showWindow(session);
  started = true;
  // Its windows close one after the other, and all of them come back.
  app.on("before-quit", () => (ending = true));
  app.on("activate", showWindowIfNone);
  app.on("will-quit", () => {
    engine.stop();
    staged.clear();
  });
}

if (app.requestSingleInstanceLock()) {
  app.on("second-instance", (_event, argv, cwd) => {
    for (const path of filesNamed(argv, cwd)) mail.post(CHANNELS.openFile, path);
    showWindowIfNone();
    bringToFront(workWindow());
  });
  app.on("window-all-closed", () => {
    if (process.platform !== "darwin") app.quit();
  });
  app.whenReady().then(start, (error: unknown) => {
    process.stderr.write(`The workbench could not start: ${String(error)}\n`);
    app.exit(1);
  });
} else app.quit();
