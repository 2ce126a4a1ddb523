/** A fake `electron` for tests: records the shell's requests, and lets a test act as the system. */
import { EventEmitter } from "node:events";

type Listener = (...args: readonly unknown[]) => unknown;

export class FakePage extends EventEmitter {
  readonly sent: (readonly unknown[])[] = [];
  openHandler: ((details: { readonly url: string }) => { readonly action: string }) | undefined;
  destroyed = false;
  send(...args: readonly unknown[]): void {
    if (this.destroyed) throw new TypeError("Object has been destroyed");
    this.sent.push(args);
  }
  postMessage(...args: readonly unknown[]): void {
    this.sent.push(args);
  }
  isDestroyed(): boolean {
    return this.destroyed;
  }
  startDrag(item: { readonly files: readonly string[] }): void {
    opened.push(`drag ${item.files.join(" ")}`);
  }
  setWindowOpenHandler(handler: (details: { readonly url: string }) => { readonly action: string }): void {
    this.openHandler = handler;
  }
}

export class FakeWindow extends EventEmitter {
  static readonly all: FakeWindow[] = [];
  readonly webContents = new FakePage();
  readonly options: { readonly title?: string; readonly webPreferences: Readonly<Record<string, unknown>> };
  shown = false;
  minimized = false;
  focused = false;
  url = "";
  title = "";
  constructor(options: FakeWindow["options"]) {
    super();
    this.title = options.title ?? "";
    this.options = options;
    FakeWindow.all.push(this);
  }
  static getAllWindows(): FakeWindow[] {
    return FakeWindow.all;
  }
  /** The one in front. */
  static front: FakeWindow | null = null;
  static getFocusedWindow(): FakeWindow | null {
    return FakeWindow.front;
  }
  static fromWebContents(page: FakePage): FakeWindow | null {
    return FakeWindow.all.find((window) => window.webContents === page) ?? null;
  }
  show(): void {
    this.shown = true;
  }
  async loadURL(url: string): Promise<void> {
    this.url = url;
  }
  isMinimized(): boolean {
    return this.minimized;
  }
  restore(): void {
    this.minimized = false;
  }
  focus(): void {
    this.focused = true;
  }
  /** As if the user closed it. */
  close(): void {
    FakeWindow.all.splice(FakeWindow.all.indexOf(this), 1);
    this.webContents.destroyed = true;
    this.emit("closed");
    if (FakeWindow.all.length === 0) fakeElectron.app.emit("window-all-closed");
  }
  setTitle(title: string): void {
    this.title = title;
  }
}

export class FakeUtility extends EventEmitter {
  static readonly all: FakeUtility[] = [];
  readonly posted: (readonly unknown[])[] = [];
  killed = false;
  postMessage(...args: readonly unknown[]): void {
    this.posted.push(args);
  }
  kill(): void {
    this.killed = true;
    this.emit("exit", 0);
  }
}

export class FakeIpc {
  readonly listeners = new Map<string, Listener>();
  readonly handlers = new Map<string, Listener>();
  on(channel: string, listener: Listener): void {
    this.listeners.set(channel, listener);
  }
  handle(channel: string, listener: Listener): void {
    this.handlers.set(channel, listener);
  }
}

export const opened: string[] = [];

/** What `app` says of itself when the shell is imported. */
export const lock: { free: boolean; ready: Promise<void> } = { free: true, ready: Promise.resolve() };

/** Where the shell keeps its own files; a test names a folder. */
export const userData = { folder: "/nowhere" };

/** Notifications that were shown, and what a test does with them. */
export class FakeNotification extends EventEmitter {
  static readonly shown: FakeNotification[] = [];
  readonly options: { readonly title: string; readonly body: string };
  constructor(options: FakeNotification["options"]) {
    super();
    this.options = options;
  }
  static isSupported(): boolean {
    return true;
  }
  show(): void {
    FakeNotification.shown.push(this);
  }
}

export interface FakeMenuItem {
  readonly label?: string;
  readonly submenu?: readonly FakeMenuItem[];
  readonly click?: () => void;
}

/** The latest menu bar. */
export const menuBar: { items: readonly FakeMenuItem[] } = { items: [] };
/** Of the icon in the Dock. */
export const dock: { items: readonly FakeMenuItem[] } = { items: [] };

/** As if the user chose it. */
export function choose(label: string): void {
  const item = menuBar.items.flatMap(({ submenu }) => submenu ?? []).find((entry) => entry.label === label);
  if (item?.click === undefined) throw new Error(`The menu has no ${label}.`);
  item.click();
}

export const fakeElectron = {
  app: Object.assign(new EventEmitter(), {
    addRecentDocument: (path: string) => opened.push(`recent ${path}`),
    enableSandbox: () => opened.push("sandbox"),
    quit: () => opened.push("quit"),
    exit: (code: number) => opened.push(`exit ${code}`),
    getAppPath: () => "/app",
    getPath: () => userData.folder,
    dock: {
      setMenu: (items: readonly FakeMenuItem[]): void => {
        dock.items = items;
      },
    },
    isPackaged: false,
    getVersion: () => "0.0.0",
    /** False if the app runs already. */
    requestSingleInstanceLock: (): boolean => lock.free,
    whenReady: (): Promise<void> => lock.ready,
  }),
  BrowserWindow: FakeWindow,
  Notification: FakeNotification,
  ipcMain: new FakeIpc(),
  Menu: {
    setApplicationMenu: (template: readonly FakeMenuItem[]): void => {
      menuBar.items = template;
    },
    buildFromTemplate: (template: readonly FakeMenuItem[]) => template,
  },
  protocol: { registerSchemesAsPrivileged: () => undefined, handle: () => undefined },
  session: {
    defaultSession: {
      setPermissionRequestHandler: () => undefined,
      setPermissionCheckHandler: () => undefined,
      setDevicePermissionHandler: () => undefined,
      webRequest: { onBeforeRequest: () => undefined },
    },
  },
  dialog: {
    showOpenDialog: async () => ({ filePaths: ["/models/a.gguf"], canceled: false }),
    showMessageBox: async ({ message }: { readonly message: string }) => {
      opened.push(`message ${message}`);
      return { response: 0 };
    },
    showSaveDialog: async () => ({ filePath: "", canceled: true }),
  },
  nativeImage: {
    createFromBitmap: (pixels: Buffer, size: { readonly width: number; readonly height: number }) => ({ pixels, size }),
  },
  ShareMenu: class {
    readonly item: { readonly filePaths: readonly string[] };
    constructor(item: { readonly filePaths: readonly string[] }) {
      this.item = item;
    }
    popup({ window }: { readonly window: FakeWindow }): void {
      opened.push(`share ${this.item.filePaths.join(" ")} in ${FakeWindow.all.indexOf(window)}`);
    }
  },
  MessageChannelMain: class {
    readonly port1 = "port1";
    readonly port2 = "port2";
  },
  nativeTheme: { shouldUseDarkColors: true },
  shell: {
    openExternal: async (url: string): Promise<void> => void opened.push(url),
    showItemInFolder: (path: string) => opened.push(`show ${path}`),
  },
  utilityProcess: {
    fork: () => {
      const utility = new FakeUtility();
      FakeUtility.all.push(utility);
      return utility;
    },
  },
};
