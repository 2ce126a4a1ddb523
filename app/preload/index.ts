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

type Listener = (text: string) => void;

/** Passes strings from the shell to the page, also those sent before it listens. Returns the stop. */
function listeners(channel: string): (listener: Listener) => () => void {
  const all = new Set<Listener>();
  const waiting: string[] = [];
  ipcRenderer.on(channel, (_event, text: unknown) => {
    if (typeof text !== "string") return;
    if (all.size === 0) waiting.push(text);
    for (const listener of all) listener(text);
  });
  return (listener) => {
    all.add(listener);
    for (const text of waiting.splice(0)) listener(text);
    return () => {
      all.delete(listener);
    };
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
  saveDialog: async (suggested) => asPath(await ipcRenderer.invoke(CHANNELS.saveDialog, suggested)),
  openFolderDialog: async () => asPath(await ipcRenderer.invoke(CHANNELS.folderDialog)),
  notify: (title, text) => ipcRenderer.send(CHANNELS.notify, title, text),
  showInFolder: (path) => ipcRenderer.send(CHANNELS.showInFolder, path),
  onCommand: listeners(CHANNELS.command),
  onOpenFile: listeners(CHANNELS.openFile),
  openSettings: () => ipcRenderer.send(CHANNELS.openSettings),
  startDrag: (paths) => ipcRenderer.send(CHANNELS.startDrag, [...paths]),
  stageFile: async (name, content) => asPath(await ipcRenderer.invoke(CHANNELS.stageFile, name, content)),
  share: (path) => ipcRenderer.send(CHANNELS.share, path),
  finderAction: async (wanted) => {
    const state: unknown = await ipcRenderer.invoke(CHANNELS.finderAction, wanted);
    return state === "added" || state === "absent" ? state : null;
  },
  setDocument: (title, path) => ipcRenderer.send(CHANNELS.setDocument, title, path),
};

contextBridge.exposeInMainWorld("workbench", bridge);
