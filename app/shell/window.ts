/** The windows: sandboxed, isolated, on our own protocol; each shows itself when its page has drawn. */
import type { BrowserWindowConstructorOptions } from "electron";
import { BrowserWindow, nativeTheme } from "electron";
import { SETTINGS_PARAMETER } from "../../main/contract/shell.ts";
import { withSession } from "./openWindows.ts";
import { APP_URL } from "./security.ts";

/** `session`: what the page goes on with. */
export function createWindow(preload: string, session: string): BrowserWindow {
  return show(preload, withSession(APP_URL, session), {
    ...{ width: 1440, height: 900, minWidth: 1000, minHeight: 640, title: "RLX Workbench" },
    titleBarStyle: process.platform === "darwin" ? "hiddenInset" : "default",
  });
}

/** A panel of the app: it keeps its width, and fills no screen. */
export function createSettingsWindow(preload: string): BrowserWindow {
  return show(preload, `${APP_URL}?${SETTINGS_PARAMETER}`, {
    ...{ width: 560, height: 720, minWidth: 420, minHeight: 360, title: "Settings" },
    ...{ maximizable: false, fullscreenable: false },
  });
}

function show(preload: string, url: string, own: BrowserWindowConstructorOptions): BrowserWindow {
  const window = new BrowserWindow({
    ...own,
    show: false,
    backgroundColor: nativeTheme.shouldUseDarkColors ? "#16181d" : "#ffffff",
    webPreferences: {
      preload,
      contextIsolation: true,
      sandbox: true,
      nodeIntegration: false,
      nodeIntegrationInWorker: false,
      nodeIntegrationInSubFrames: false,
      webSecurity: true,
      allowRunningInsecureContent: false,
      experimentalFeatures: false,
      webviewTag: false,
      navigateOnDragDrop: false,
      spellcheck: false,
    },
  });
  window.once("ready-to-show", () => window.show());
  window.loadURL(url).catch(() => window.show());
  return window;
}
