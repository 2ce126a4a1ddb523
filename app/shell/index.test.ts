// The shell as a whole, imported anew for each test: what it does with what the system tells it.
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CHANNELS } from "../channels.ts";
import {
  choose,
  dock,
  fakeElectron,
  FakeNotification,
  FakeUtility,
  FakeWindow,
  lock,
  menuBar,
  opened,
  userData,
} from "./fakeElectron.ts";

vi.mock("electron", () => fakeElectron);

const { app } = fakeElectron;
const { argv, platform } = process;
let folder: string;
let model: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "shell-index-"));
  model = join(folder, "m.gguf");
  await writeFile(model, "");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

beforeEach(async () => {
  await rm(join(folder, "windows.json"), { force: true });
  userData.folder = folder;
  vi.resetModules();
  app.removeAllListeners();
  opened.length = 0;
  FakeWindow.all.length = 0;
  FakeUtility.all.length = 0;
  Object.assign(lock, { free: true, ready: Promise.resolve() });
});
afterEach(() => {
  process.argv = argv;
  on(platform);
});

const on = (name: NodeJS.Platform): void => void Object.defineProperty(process, "platform", { value: name });

/** Imports the shell; done when it has started. */
async function start(...files: readonly string[]): Promise<void> {
  process.argv = ["/electron", "/app", ...files];
  await import("./index.ts");
  await lock.ready;
  await Promise.resolve();
}

const windowNow = (): FakeWindow => {
  expect(FakeWindow.all).toHaveLength(1);
  return FakeWindow.all[0]!;
};
const loaded = (window = windowNow()): void => void window.webContents.emit("did-finish-load");
const filesOf = (window = windowNow()): unknown[] =>
  window.webContents.sent.filter(([channel]) => channel === CHANNELS.openFile).map(([, path]) => path);

function openFile(path: string): void {
  const event = { preventDefault: vi.fn() };
  app.emit("open-file", event, path);
  expect(event.preventDefault).toHaveBeenCalledOnce();
}

describe("a start", () => {
  it("shows one window and hands it the files of the command line when it has loaded", async () => {
    const missing = join(folder, "missing");
    await start("--flag", model, missing);
    expect(opened).toEqual(["sandbox"]);
    expect(filesOf()).toEqual([]);
    loaded();
    expect(filesOf()).toEqual([model, missing]);
  });

  it("beside a running app quits, and shows nothing", async () => {
    lock.free = false;
    await start(model);
    expect(opened).toEqual(["sandbox", "quit"]);
    expect(FakeWindow.all).toEqual([]);
    openFile(model);
    expect(FakeWindow.all).toEqual([]);
  });

  it("that fails ends with an error", async () => {
    const say = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    lock.ready = Promise.reject(new Error("no display"));
    await start().catch(() => undefined);
    await vi.waitFor(() => expect(opened).toEqual(["sandbox", "exit 1"]));
    expect(say).toHaveBeenCalledWith(expect.stringContaining("no display"));
    say.mockRestore();
  });
});

describe("a file that the system opens", () => {
  it("before the app is ready waits for the window, and no other is made", async () => {
    let ready = (): void => undefined;
    lock.ready = new Promise((resolve) => (ready = resolve));
    const starting = start();
    await vi.waitFor(() => expect(app.listenerCount("open-file")).toBe(1));
    openFile("/early.gguf");
    expect(FakeWindow.all).toEqual([]);
    ready();
    await starting;
    openFile("/loading.gguf");
    loaded();
    expect(filesOf()).toEqual(["/early.gguf", "/loading.gguf"]);
  });

  it("goes to the window that is there", async () => {
    await start();
    loaded();
    openFile("/a.gguf");
    expect(filesOf()).toEqual(["/a.gguf"]);
  });

  it("gets a window when the last was closed, and so do those that come while it loads", async () => {
    on("darwin");
    await start();
    loaded();
    const first = windowNow();
    first.close();
    expect(opened).not.toContain("quit");
    for (const path of ["/a.gguf", "/b.gguf"]) openFile(path);
    expect(filesOf()).toEqual([]);
    loaded();
    openFile("/c.gguf");
    expect(filesOf()).toEqual(["/a.gguf", "/b.gguf", "/c.gguf"]);
    expect(filesOf(first)).toEqual([]);
  });
});

describe("a command of the menu", () => {
  const commands = (window = windowNow()): unknown[] =>
    window.webContents.sent.filter(([channel]) => channel === CHANNELS.command).map(([, command]) => command);

  it("goes to the window that is there", async () => {
    await start();
    loaded();
    choose("Commands");
    expect(commands()).toEqual(["view.palette"]);
  });

  it("gets a window when the last was closed, and waits until it has loaded", async () => {
    on("darwin");
    await start();
    loaded();
    windowNow().close();
    choose("Commands");
    expect(commands()).toEqual([]);
    loaded();
    expect(commands()).toEqual(["view.palette"]);
  });
});

describe("a second start", () => {
  it("hands over its files and brings the window to the front", async () => {
    await start();
    loaded();
    const window = windowNow();
    window.minimized = true;
    app.emit("second-instance", {}, ["/electron", "--flag", "m.gguf"], folder);
    expect(filesOf()).toEqual([model]);
    expect(window).toMatchObject({ minimized: false, focused: true });
  });

  it("shows a window where there is none", async () => {
    on("darwin");
    await start();
    loaded();
    windowNow().close();
    app.emit("second-instance", {}, ["/electron", model], folder);
    loaded();
    expect(filesOf()).toEqual([model]);
  });
});

describe("windows", () => {
  const urls = (): string[] => FakeWindow.all.map(({ url }) => url.replace(/^.*session=/u, ""));

  it("come back with their sessions after a restart", async () => {
    await start();
    choose("New window");
    const [first, second] = FakeWindow.all;
    expect(FakeWindow.all).toHaveLength(2);
    // The page goes on with another session, and names it in its address.
    second?.webContents.emit("did-navigate-in-page", {}, "workbench://app/index.html?session=other-one#tab=run");
    const [one = ""] = urls();
    app.emit("before-quit");
    second?.close();
    first?.close();
    vi.resetModules();
    app.removeAllListeners();
    await start();
    expect(urls()).toEqual([one, "other-one"]);
  });

  it("that were closed stay closed, but for the last one", async () => {
    await start();
    choose("New window");
    const [first, second] = FakeWindow.all;
    const [, kept] = urls();
    first?.close();
    second?.close();
    vi.resetModules();
    app.removeAllListeners();
    await start();
    expect(urls()).toEqual([kept]);
  });

  it("start anew where their list is damaged", async () => {
    await writeFile(join(folder, "windows.json"), JSON.stringify({ sessions: ["../evil", 7, "good-one", "good-one"] }));
    await start();
    expect(urls()).toEqual(["good-one"]);
  });
});

describe("the app", () => {
  it("shows a window when it is activated without one, and only then", async () => {
    on("darwin");
    await start();
    app.emit("activate");
    windowNow().close();
    expect(FakeWindow.all).toEqual([]);
    app.emit("activate");
    app.emit("activate");
    expect(windowNow().url).toMatch(/^workbench:\/\/app\/index\.html\?session=[0-9a-f-]{36}$/u);
  });

  it("says from the menu how a source folder is updated", async () => {
    await start();
    choose("Check for updates…");
    await vi.waitFor(() => expect(opened).toContain("message This workbench runs from its source folder."));
  });

  it("ends with its last window, but not on a Mac, and takes the engine with it", async () => {
    on("linux");
    await start();
    const connect = fakeElectron.ipcMain.listeners.get(CHANNELS.requestPort);
    connect?.({ sender: windowNow().webContents, senderFrame: { url: "workbench://app/index.html", parent: null } });
    expect(FakeUtility.all).toHaveLength(1);
    windowNow().close();
    expect(opened).toContain("quit");
    app.emit("will-quit");
    expect(FakeUtility.all[0]?.killed).toBe(true);
  });
});

describe("on a Mac", () => {
  const PAGE = { url: "workbench://app/index.html", parent: null };

  it("the settings are in the app's own menu, elsewhere in File", async () => {
    const holding = (): readonly number[] =>
      menuBar.items.flatMap(({ submenu }, i) =>
        submenu?.some(({ label }) => label === "Settings…") === true ? [i] : [],
      );
    on("darwin");
    await start();
    expect(holding()).toEqual([0]);
    loaded();
    vi.resetModules();
    app.removeAllListeners();
    on("linux");
    await start();
    expect(menuBar.items[holding()[0] ?? -1]?.label).toBe("File");
  });

  it("the settings have one window, which hears of no file and no command", async () => {
    on("darwin");
    await start();
    loaded();
    const [work] = FakeWindow.all;
    choose("Settings…");
    const [, panel] = FakeWindow.all;
    expect(panel).toMatchObject({ url: "workbench://app/index.html?settings", title: "Settings" });
    expect(panel?.options.webPreferences).toMatchObject({
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
    });
    FakeWindow.front = panel ?? null;
    openFile("/a.gguf");
    choose("Commands");
    expect(panel?.webContents.sent).toEqual([]);
    expect(filesOf(work)).toEqual(["/a.gguf"]);
    expect(work?.webContents.sent).toContainEqual([CHANNELS.command, "view.palette"]);
    if (panel !== undefined) Object.assign(panel, { minimized: true, focused: false });
    fakeElectron.ipcMain.listeners.get(CHANNELS.openSettings)?.({ sender: work?.webContents, senderFrame: PAGE });
    expect(FakeWindow.all).toHaveLength(2);
    expect(panel).toMatchObject({ minimized: false, focused: true });
    // Its window closed, it opens anew; a file gets a window of its own while only the settings are there.
    panel?.close();
    choose("Settings…");
    work?.close();
    openFile("/b.gguf");
    expect(FakeWindow.all.map(({ title }) => title)).toEqual(["Settings", "RLX Workbench"]);
    loaded(FakeWindow.all[1]);
    expect(filesOf(FakeWindow.all[1])).toEqual(["/b.gguf"]);
    FakeWindow.front = null;
  });

  it("elsewhere the settings close with the last window, and no next start shows them", async () => {
    on("linux");
    await start();
    choose("Settings…");
    FakeWindow.all[0]?.close();
    expect(FakeWindow.all).toEqual([]);
    expect(opened).toContain("quit");
    vi.resetModules();
    app.removeAllListeners();
    await start();
    expect(windowNow().title).toBe("RLX Workbench");
  });

  it("what the window made is a file until the app ends", async () => {
    await start();
    const stage = fakeElectron.ipcMain.handlers.get(CHANNELS.stageFile);
    const make = async (text: string): Promise<string> =>
      String(await stage?.({ sender: windowNow().webContents, senderFrame: PAGE }, "a.html", Buffer.from(text)));
    const [first, second] = [await make("one"), await make("two")];
    expect(first).not.toBe(second);
    expect([await readFile(first, "utf8"), await readFile(second, "utf8")]).toEqual(["one", "two"]);
    app.emit("will-quit");
    await expect(readFile(first, "utf8")).rejects.toThrow("ENOENT");
  });

  it("Finder's Quick Action is added and removed on request only, and opens the bundle that is packaged", async () => {
    const said = vi.fn(async () => undefined);
    const { createQuickAction, BUNDLE_ID } = await import("./quickAction.ts");
    const action = createQuickAction(folder, said);
    expect(await action.isAdded()).toBe(false);
    await action.add();
    await action.add();
    const contents = join(folder, "Library", "Services", "Open in RLX Workbench.workflow", "Contents");
    expect((await readdir(contents)).toSorted()).toEqual(["Info.plist", "document.wflow"]);
    const [info, workflow] = await Promise.all(
      ["Info.plist", "document.wflow"].map((name) => readFile(join(contents, name), "utf8")),
    );
    expect(info).toContain("<key>NSMessage</key><string>runWorkflowAsService</string>");
    expect(workflow).toContain(`/usr/bin/open -b ${BUNDLE_ID} "$@"</string>`);
    expect(await readFile(new URL("../../electron-builder.yml", import.meta.url), "utf8")).toContain(
      `appId: ${BUNDLE_ID}\n`,
    );
    await action.remove();
    expect(await action.isAdded()).toBe(false);
    expect(said).toHaveBeenCalledTimes(3);
  });

  it("the Dock's menu opens a window and the sample", async () => {
    on("darwin");
    await start();
    loaded();
    dock.items.find(({ label }) => label === "Open the sample model")?.click?.();
    expect(windowNow().webContents.sent).toContainEqual([CHANNELS.command, "file.openSample"]);
    dock.items.find(({ label }) => label === "New window")?.click?.();
    expect(FakeWindow.all).toHaveLength(2);
  });

  it("a notification is shown while no window is in front, brings its window back, and comes from our page only", async () => {
    await start();
    const window = windowNow();
    const notify = (senderFrame: object, text: unknown): void =>
      void fakeElectron.ipcMain.listeners.get(CHANNELS.notify)?.(
        { sender: window.webContents, senderFrame },
        "RLX",
        text,
      );
    FakeNotification.shown.length = 0;
    FakeWindow.front = window;
    notify(PAGE, "done");
    FakeWindow.front = null;
    notify({ ...PAGE, url: "https://example.com/" }, "done");
    notify(PAGE, 7);
    expect(FakeNotification.shown).toEqual([]);
    notify(PAGE, "x".repeat(1000));
    expect(FakeNotification.shown[0]?.options.body).toHaveLength(300);
    window.focused = false;
    FakeNotification.shown[0]?.emit("click");
    expect(window.focused).toBe(true);
  });

  it("a folder of models is chosen by the system's dialog", async () => {
    await start();
    const ask = fakeElectron.ipcMain.handlers.get(CHANNELS.folderDialog);
    expect(await ask?.({ sender: windowNow().webContents, senderFrame: PAGE })).toBe("/models/a.gguf");
  });
});
