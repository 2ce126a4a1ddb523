/**
 * Updates of the installed application. It looks for one only when the user asks, says what it found, and downloads
 * and installs only after a yes. Where updates come from is in electron-builder.yml (`publish`).
 */
import type { MessageBoxOptions } from "electron";

/** The part of electron-updater that is used. */
export interface Updates {
  autoDownload: boolean;
  autoInstallOnAppQuit: boolean;
  checkForUpdates(): Promise<{
    readonly isUpdateAvailable: boolean;
    readonly updateInfo: { readonly version: string };
  } | null>;
  downloadUpdate(): Promise<unknown>;
  quitAndInstall(): void;
}

export interface UpdaterParts {
  /** False in the repository: there is nothing to replace. */
  readonly installed: boolean;
  readonly version: string;
  readonly load: () => Promise<Updates>;
  /** Shows a message and gives the number of the button that was pressed. */
  readonly ask: (options: MessageBoxOptions) => Promise<number>;
}

/** Gives the function behind "Check for updates…". A second call while one is at work does nothing. */
export function createUpdater(parts: UpdaterParts): () => Promise<void> {
  let busy = false;
  return async () => {
    if (busy) return;
    busy = true;
    try {
      await check(parts);
    } catch (error) {
      await parts.ask({
        type: "error",
        message: "The update did not succeed.",
        detail: `${error instanceof Error ? error.message : String(error)}\nNothing was changed. Try again later.`,
        buttons: ["OK"],
      });
    } finally {
      busy = false;
    }
  };
}

async function check({ installed, version, load, ask }: UpdaterParts): Promise<void> {
  if (!installed) {
    await ask({
      type: "info",
      message: "This workbench runs from its source folder.",
      detail: "Run `git pull` and `npm start` to update it.",
      buttons: ["OK"],
    });
    return;
  }
  const updates = await load();
  updates.autoDownload = false;
  updates.autoInstallOnAppQuit = false;
  const found = await updates.checkForUpdates();
  if (found === null || !found.isUpdateAvailable) {
    await ask({ type: "info", message: `Version ${version} is the latest.`, buttons: ["OK"] });
    return;
  }
  const download = await ask({
    type: "question",
    message: `Version ${found.updateInfo.version} is available.`,
    detail: `You have version ${version}. The download goes on in the background.`,
    buttons: ["Download", "Not now"],
    defaultId: 0,
    cancelId: 1,
  });
  if (download !== 0) return;
  await updates.downloadUpdate();
  const restart = await ask({
    type: "question",
    message: `Version ${found.updateInfo.version} is ready.`,
    detail: "Work that is running stops when the workbench restarts.",
    buttons: ["Restart and install", "Install when I quit"],
    defaultId: 1,
    cancelId: 1,
  });
  if (restart === 0) updates.quitAndInstall();
  else updates.autoInstallOnAppQuit = true;
}
