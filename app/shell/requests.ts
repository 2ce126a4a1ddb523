/** Requests of a page to the shell. Each must come from our page and have a valid shape. */
import { isAbsolute } from "node:path";
import type { IpcMain, IpcMainEvent, IpcMainInvokeEvent } from "electron";
import { app, BrowserWindow, dialog, Notification, shell, ShareMenu } from "electron";
import { CHANNELS } from "../channels.ts";
import type { EngineHost } from "./engineHost.ts";
import { dragIcon, isFileName } from "./filesOut.ts";
import type { QuickAction } from "./quickAction.ts";
import { isTrustedSender } from "./security.ts";

/** At one drag. */
const MOST_FILES = 100;

const windowOf = (event: IpcMainEvent | IpcMainInvokeEvent): BrowserWindow | null =>
  BrowserWindow.fromWebContents(event.sender);
const isPath = (value: unknown): value is string =>
  typeof value === "string" && value.length <= 4096 && isAbsolute(value) && !value.includes("\0");

const isPathList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length <= MOST_FILES && value.every(isPath);

/** What the shell has for its pages. */
export interface ShellParts {
  readonly engine: EngineHost;
  /** Where a file that a page made lies from then on. */
  readonly stage: (name: string, content: Uint8Array) => Promise<string>;
  readonly openSettings: () => void;
  /** null where there is no Finder. */
  readonly quickAction: QuickAction | null;
}

export function handleRequests(
  ipc: Pick<IpcMain, "on" | "handle">,
  { engine, stage, openSettings, quickAction }: ShellParts,
): void {
  const onTrusted = (channel: string, act: (event: IpcMainEvent, ...args: readonly unknown[]) => void): void => {
    ipc.on(channel, (event, ...args: readonly unknown[]) => {
      if (isTrustedSender(event.senderFrame)) act(event, ...args);
    });
  };
  const answerTrusted = (
    channel: string,
    answer: (event: IpcMainInvokeEvent, ...args: readonly unknown[]) => Promise<string | null>,
  ): void => {
    ipc.handle(channel, (event, ...args: readonly unknown[]) => {
      if (!isTrustedSender(event.senderFrame)) throw new Error(`[shell] ${channel} from a page that is not ours`);
      return answer(event, ...args);
    });
  };

  onTrusted(CHANNELS.requestPort, (event) => engine.connect(event.sender));
  onTrusted(CHANNELS.showInFolder, (_event, path) => {
    if (isPath(path)) shell.showItemInFolder(path);
  });
  onTrusted(CHANNELS.openSettings, openSettings);
  onTrusted(CHANNELS.startDrag, (event, paths) => {
    if (!isPathList(paths)) return;
    const [file] = paths;
    if (file !== undefined) event.sender.startDrag({ file, files: [...paths], icon: dragIcon() });
  });
  onTrusted(CHANNELS.share, (event, path) => {
    const window = windowOf(event);
    if (process.platform !== "darwin" || window === null || !isPath(path)) return;
    new ShareMenu({ filePaths: [path] }).popup({ window });
  });
  answerTrusted(CHANNELS.stageFile, async (_event, name, content) =>
    isFileName(name) && content instanceof Uint8Array ? stage(name, content) : null,
  );
  answerTrusted(CHANNELS.finderAction, async (_event, wanted) => {
    if (quickAction === null) return null;
    if (wanted === "add") await quickAction.add();
    else if (wanted === "remove") await quickAction.remove();
    return (await quickAction.isAdded()) ? "added" : "absent";
  });
  onTrusted(CHANNELS.setDocument, (event, title, path) => {
    const window = windowOf(event);
    if (!window || typeof title !== "string") return;
    window.setTitle(title.slice(0, 200));
    if (process.platform === "darwin") window.setRepresentedFilename(isPath(path) ? path : "");
    if (isPath(path)) app.addRecentDocument(path);
  });
  onTrusted(CHANNELS.notify, (event, title, text) => {
    const window = windowOf(event);
    if (typeof title !== "string" || typeof text !== "string") return;
    if (BrowserWindow.getFocusedWindow() !== null || !Notification.isSupported()) return;
    const notification = new Notification({ title: title.slice(0, 100), body: text.slice(0, 300) });
    notification.on("click", () => {
      if (window?.isMinimized() === true) window.restore();
      window?.focus();
    });
    notification.show();
  });
  answerTrusted(CHANNELS.folderDialog, async (event) => {
    const options = { properties: ["openDirectory" as const] };
    const window = windowOf(event);
    const { filePaths } = await (window ? dialog.showOpenDialog(window, options) : dialog.showOpenDialog(options));
    return filePaths[0] ?? null;
  });
  answerTrusted(CHANNELS.openDialog, async (event) => {
    const options = {
      // The folder of a Hugging Face model, too, where one dialog has both.
      properties:
        process.platform === "darwin" ? ["openFile" as const, "openDirectory" as const] : ["openFile" as const],
      filters: [
        { name: "Model", extensions: ["gguf", "safetensors", "rlx"] },
        { name: "All files", extensions: ["*"] },
      ],
    };
    const window = windowOf(event);
    const { filePaths } = await (window ? dialog.showOpenDialog(window, options) : dialog.showOpenDialog(options));
    return filePaths[0] ?? null;
  });
  answerTrusted(CHANNELS.saveDialog, async (event, suggested) => {
    const options = {
      ...(typeof suggested === "string" ? { defaultPath: suggested.slice(0, 4096) } : {}),
      filters: [
        typeof suggested === "string" && suggested.endsWith(".gguf")
          ? { name: "GGUF model", extensions: ["gguf"] }
          : { name: "Core ML package", extensions: ["mlpackage"] },
      ],
    };
    const window = windowOf(event);
    const { filePath, canceled } = await (window
      ? dialog.showSaveDialog(window, options)
      : dialog.showSaveDialog(options));
    return canceled || filePath === "" ? null : filePath;
  });
}
