/**
 * What a shell around the window can do beyond the contract: dialogs, file paths of drops, menus. Electron's preload exposes it
 * as `window.workbench`; in a browser there is none, and the window offers a path box and the file picker instead. Types only.
 */
export const SHELL_VERSION = 1;

/** In the address of the page that is the settings in a window of their own. */
export const SETTINGS_PARAMETER = "settings";

/** Whether Finder has our Quick Action. */
export type FinderAction = "added" | "absent";

/** The message that carries the engine's port from the preload into the page: `event.data` is this, `event.ports[0]` the port. */
export const PORT_MESSAGE = "workbench:engine-port";

export interface ShellBridge {
  readonly version: typeof SHELL_VERSION;
  readonly platform: "darwin" | "linux" | "win32";
  /** Asks for a (new) engine port; it arrives as a window message with PORT_MESSAGE. Again after the engine was lost. */
  requestPort(): void;
  /** The file's path, or "" when the file has none. */
  pathForFile(file: unknown): string;
  openModelDialog(): Promise<string | null>;
  /** Where to write a package or a model file, by the ending of the suggestion; null when the user changed their mind. */
  saveDialog(suggestedPath: string): Promise<string | null>;
  showInFolder(path: string): void;
  /** A folder of models; null when the user changed their mind. */
  openFolderDialog(): Promise<string | null>;
  /** A notification of the system; the shell shows it only while no window is in front. A click brings the window back. */
  notify(title: string, text: string): void;
  /** Menu items and system events, by command id of the window's registry. Returns the way to stop listening. */
  onCommand(listener: (command: string) => void): () => void;
  /** Files that the system asked to open: Finder, the Dock icon, the command line. */
  onOpenFile(listener: (path: string) => void): () => void;
  /** The settings in a window of their own; one that is open comes to the front. */
  openSettings(): void;
  /** Hands files to the system, from the start of a drag on. */
  startDrag(paths: readonly string[]): void;
  /** Writes what the window made to a place that can be dragged and shared from, until the app ends; null where the name is not good. */
  stageFile(name: string, content: Uint8Array): Promise<string | null>;
  /** The system's list of ways to share a file. Only a Mac has one. */
  share(path: string): void;
  /** Finder's Quick Action that opens files here: looked at, added or removed. null where there is no Finder. */
  finderAction(wanted: "look" | "add" | "remove"): Promise<FinderAction | null>;
  /** Title, and the file it stands for. */
  setDocument(title: string, path: string | null): void;
}
