/**
 * The sandboxed preload: exposes the shell bridge, nothing else. No raw ipcRenderer, no validation (that is the trusted side's),
 * no dependency. The engine's port is passed on to the page as it comes.
 */
import { contextBridge, ipcRenderer, webUtils } from "electron";
import type { ShellBridge } from "../../main/contract/shell.ts";
import { PORT_MESSAGE, SHELL_VERSION } from "../../main/contract/shell.ts";
import { CHANNELS } from "../channels.ts";

ipcRenderer.on(CHANNELS.port, (event) => {
  const [port] = event.ports;
  if (port) window.postMessage(PORT_MESSAGE, window.location.origin, [port]);
});
ipcRenderer.on(CHANNELS.engineLost, () => {
  window.postMessage(`${PORT_MESSAGE}:lost`, window.location.origin);
});

/** Passes a string from the shell on to a listener; returns the way to stop. */
function listen(channel: string, listener: (text: string) => void): () => void {
  const forward = (_event: unknown, text: unknown): void => {
    if (typeof text === "string") listener(text);
  };
  ipcRenderer.on(channel, forward);
  return () => {
    ipcRenderer.off(channel, forward);
  };
}

const asPath = (value: unknown): string | null => (typeof value === "string" ? value : null);
const platform = process.platform;

const bridge: ShellBridge = {
  version: SHELL_VERSION,
  platform: platform === "darwin" || platform === "win32" ? platform : "linux",
  requestPort: () => ipcRenderer.send(CHANNELS.requestPort),
  pathForFile: (file) => (file instanceof File ? webUtils.getPathForFile(file) : ""),
  openModelDialog: async () => asPath(await ipcRenderer.invoke(CHANNELS.openDialog)),
  savePackageDialog: async (suggested) => asPath(await ipcRenderer.invoke(CHANNELS.saveDialog, suggested)),
  showInFolder: (path) => ipcRenderer.send(CHANNELS.showInFolder, path),
  onCommand: (listener) => listen(CHANNELS.command, listener),
  onOpenFile: (listener) => listen(CHANNELS.openFile, listener),
  setDocument: (title, path) => ipcRenderer.send(CHANNELS.setDocument, title, path),
};

contextBridge.exposeInMainWorld("workbench", bridge);
