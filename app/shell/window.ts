/** The window: sandboxed, isolated, on our own protocol; it shows itself when the page has drawn. */
import { BrowserWindow, nativeTheme } from "electron";
import { withSession } from "./openWindows.ts";
import { APP_URL } from "./security.ts";

/** `session`: what the page goes on with. */
export function createWindow(preload: string, session: string): BrowserWindow {
  const window = new BrowserWindow({
    width: 1440,
    height: 900,
    minWidth: 1000,
    minHeight: 640,
    show: false,
    title: "RLX Workbench",
    titleBarStyle: process.platform === "darwin" ? "hiddenInset" : "default",
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
  window.loadURL(withSession(APP_URL, session)).catch(() => window.show());
  return window;
}
