import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { IpcMain, Session, WebContents } from "electron";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { COMMANDS } from "../../main/contract/commands.ts";
import { CHANNELS } from "../channels.ts";
import { fakeElectron, FakeIpc, FakePage, FakeUtility, FakeWindow, opened } from "./fakeElectron.ts";

vi.mock("electron", () => fakeElectron);
const { createEngineHost } = await import("./engineHost.ts");
const { dragIcon } = await import("./filesOut.ts");
const { menuTemplate } = await import("./menu.ts");
const { createMailbox } = await import("./mailbox.ts");
const { filesOf } = await import("./openFiles.ts");
const { registerScheme, respond } = await import("./protocol.ts");
const { handleRequests } = await import("./requests.ts");
const { hardenApp, hardenContents, hardenSession, isAllowedOutside, isOurPage, isTrustedSender } =
  await import("./security.ts");
const { createWindow } = await import("./window.ts");

const asContents = (page: FakePage): WebContents => page as unknown as WebContents;
beforeEach(() => {
  opened.length = 0;
  FakeWindow.all.length = 0;
  FakeUtility.all.length = 0;
});

describe("the window", () => {
  it("is sandboxed, isolated and on our own protocol", () => {
    createWindow("/preload.cjs", "aaaa-bbbb");
    const [window] = FakeWindow.all;
    expect(window?.options.webPreferences).toMatchObject({
      contextIsolation: true,
      sandbox: true,
      nodeIntegration: false,
      nodeIntegrationInWorker: false,
      webSecurity: true,
      webviewTag: false,
      navigateOnDragDrop: false,
    });
    expect(window?.url).toBe("workbench://app/index.html?session=aaaa-bbbb");
    expect(window?.shown).toBe(false);
    window?.emit("ready-to-show");
    expect(window?.shown).toBe(true);
  });
});

describe("security", () => {
  it("knows our page by its parsed address", () => {
    expect(isOurPage("workbench://app/index.html#x")).toBe(true);
    for (const url of [
      "workbench://app.evil/",
      "workbench://evil/app",
      "https://app/",
      "file:///etc/passwd",
      "workbench:app",
      "",
      "javascript:alert(1)",
    ])
      expect(isOurPage(url), url).toBe(false);
  });

  it("lets only listed https hosts out", () => {
    expect(isAllowedOutside("https://huggingface.co/models")).toBe(true);
    for (const url of [
      "http://huggingface.co/",
      "https://huggingface.co.evil.example/",
      "https://user:pw@huggingface.co/",
      "https://huggingface.co:8443/",
      "file:///Applications/Calculator.app",
      "smb://huggingface.co/share",
    ])
      expect(isAllowedOutside(url), url).toBe(false);
  });

  it("stops navigation, windows and webviews", () => {
    const page = new FakePage();
    hardenContents(asContents(page));
    for (const name of ["will-navigate", "will-redirect", "will-frame-navigate"]) {
      const leave = { url: "https://evil.example/", preventDefault: vi.fn() };
      page.emit(name, leave);
      expect(leave.preventDefault, name).toHaveBeenCalledOnce();
      const stay = { url: "workbench://app/index.html", preventDefault: vi.fn() };
      page.emit(name, stay);
      expect(stay.preventDefault, name).not.toHaveBeenCalled();
    }
    const webview = { preventDefault: vi.fn() };
    page.emit("will-attach-webview", webview);
    expect(webview.preventDefault).toHaveBeenCalledOnce();
    expect(page.openHandler?.({ url: "https://evil.example/" })).toEqual({ action: "deny" });
    expect(opened).toEqual([]);
    expect(page.openHandler?.({ url: "https://github.com/x" })).toEqual({ action: "deny" });
    expect(opened).toEqual(["https://github.com/x"]);
  });

  it("denies every permission and every request that leaves the app", () => {
    const set: Record<string, (...args: readonly unknown[]) => unknown> = {};
    const record = (name: string) => (handler: (...args: readonly unknown[]) => unknown) => void (set[name] = handler);
    hardenSession({
      setPermissionRequestHandler: record("request"),
      setPermissionCheckHandler: record("check"),
      setDevicePermissionHandler: record("device"),
      webRequest: { onBeforeRequest: record("web") },
    } as unknown as Session);
    const decide = vi.fn();
    set["request"]?.({}, "media", decide);
    expect(decide).toHaveBeenCalledWith(false);
    expect(set["check"]?.()).toBe(false);
    expect(set["device"]?.()).toBe(false);
    for (const [url, cancel] of [
      ["https://evil.example/x.js", true],
      ["http://127.0.0.1/", true],
      ["workbench://app/a.js", false],
      ["blob:workbench://app/1", false],
    ] as const) {
      const answer = vi.fn();
      set["web"]?.({ url }, answer);
      expect(answer, url).toHaveBeenCalledWith({ cancel });
    }
  });

  it("sandboxes every process", () => {
    hardenApp(fakeElectron.app as never);
    expect(opened).toContain("sandbox");
  });
});

describe("requests", () => {
  const setUp = (): { readonly ipc: FakeIpc; readonly connect: ReturnType<typeof vi.fn>; readonly page: FakePage } => {
    const ipc = new FakeIpc();
    const connect = vi.fn();
    handleRequests(ipc as unknown as IpcMain, {
      engine: { connect, stop: () => undefined },
      stage: async (name) => `/staged/${name}`,
      openSettings: () => void opened.push("settings"),
      quickAction: null,
    });
    const window = new FakeWindow({ webPreferences: {} });
    return { ipc, connect, page: window.webContents };
  };
  const ours = { url: "workbench://app/index.html", parent: null };

  it("count only from the top frame of our page", async () => {
    const { ipc, connect, page } = setUp();
    for (const senderFrame of [null, { url: "https://evil.example/", parent: null }, { ...ours, parent: {} }]) {
      expect(isTrustedSender(senderFrame)).toBe(false);
      ipc.listeners.get(CHANNELS.requestPort)?.({ sender: page, senderFrame });
      ipc.listeners.get(CHANNELS.showInFolder)?.({ sender: page, senderFrame }, "/etc/passwd");
      expect(() => ipc.handlers.get(CHANNELS.openDialog)?.({ sender: page, senderFrame })).toThrow(/not ours/);
    }
    expect(connect).not.toHaveBeenCalled();
    expect(opened).toEqual([]);
    ipc.listeners.get(CHANNELS.requestPort)?.({ sender: page, senderFrame: ours });
    expect(connect).toHaveBeenCalledWith(page);
    expect(await ipc.handlers.get(CHANNELS.openDialog)?.({ sender: page, senderFrame: ours })).toBe("/models/a.gguf");
    expect(await ipc.handlers.get(CHANNELS.saveDialog)?.({ sender: page, senderFrame: ours }, "x")).toBeNull();
  });

  it("ignore what has not the right shape", () => {
    const { ipc, page } = setUp();
    const event = { sender: page, senderFrame: ours };
    for (const bad of [7, "relative", "/a\0b", `/${"x".repeat(5000)}`, undefined])
      ipc.listeners.get(CHANNELS.showInFolder)?.(event, bad);
    expect(opened).toEqual([]);
    ipc.listeners.get(CHANNELS.setDocument)?.(event, "t".repeat(500), "/models/a.gguf");
    expect(FakeWindow.fromWebContents(page)?.title).toHaveLength(200);
    expect(opened).toEqual(["recent /models/a.gguf"]);
  });

  it("drag and share files of whole paths, and nothing else", () => {
    const { ipc, page } = setUp();
    const event = { sender: page, senderFrame: ours };
    const { platform } = process;
    Object.defineProperty(process, "platform", { value: "darwin" });
    const drag = ipc.listeners.get(CHANNELS.startDrag);
    const share = ipc.listeners.get(CHANNELS.share);
    for (const bad of [7, [], ["a.gguf"], ["/a.gguf", "b"], Array.from({ length: 101 }, () => "/a")])
      drag?.(event, bad);
    for (const bad of [7, "a.gguf", undefined]) share?.(event, bad);
    drag?.({ sender: page, senderFrame: { ...ours, url: "https://evil.example/" } }, ["/a.gguf"]);
    expect(opened).toEqual([]);
    drag?.(event, ["/a.gguf", "/b.gguf"]);
    share?.(event, "/m/a.mlpackage");
    expect(opened).toEqual(["drag /a.gguf /b.gguf", "share /m/a.mlpackage in 0"]);
    Object.defineProperty(process, "platform", { value: "linux" });
    share?.(event, "/m/a.mlpackage");
    expect(opened).toHaveLength(2);
    Object.defineProperty(process, "platform", { value: platform });
  });

  it("make files only of bytes, under names that the system neither runs nor hides", async () => {
    const { ipc, page } = setUp();
    const stage = async (name: unknown, content: unknown): Promise<unknown> =>
      ipc.handlers.get(CHANNELS.stageFile)?.({ sender: page, senderFrame: ours }, name, content);
    const bytes = new Uint8Array([1]);
    for (const bad of ["../a.html", "a.command", ".html", "a/b.html", "", 7, `${"x".repeat(200)}.html`, "a.html\n"])
      expect(await stage(bad, bytes), String(bad)).toBeNull();
    expect(await stage("a.html", "text")).toBeNull();
    expect(await stage("RLX Sample-report.html", bytes)).toBe("/staged/RLX Sample-report.html");
    const { pixels } = dragIcon() as unknown as { readonly pixels: Buffer };
    const opaque = pixels.filter((byte, i) => i % 4 === 3 && byte === 255).length;
    expect([opaque > 1500, opaque < 2300, pixels[3]]).toEqual([true, true, 0]);
    // Without Finder there is no Quick Action to speak of.
    expect(await ipc.handlers.get(CHANNELS.finderAction)?.({ sender: page, senderFrame: ours }, "add")).toBeNull();
  });
});

describe("the engine's process", () => {
  it("starts when asked for, is reported lost, and starts anew", () => {
    const log = vi.fn();
    const host = createEngineHost("/engine.js", log);
    const page = new FakePage();
    expect(FakeUtility.all).toHaveLength(0);
    host.connect(asContents(page));
    expect(FakeUtility.all[0]?.posted).toEqual([[{ t: "window" }, ["port1"]]]);
    expect(page.sent).toEqual([[CHANNELS.port, null, ["port2"]]]);
    FakeUtility.all[0]?.emit("exit", 9);
    expect(log).toHaveBeenCalledWith("the engine ended with code 9");
    expect(page.sent.at(-1)).toEqual([CHANNELS.engineLost]);
    host.connect(asContents(page));
    expect(FakeUtility.all).toHaveLength(2);
    host.stop();
    expect(FakeUtility.all[1]?.killed).toBe(true);
    expect(log).toHaveBeenCalledOnce();
  });
});

describe("the protocol", () => {
  it("serves the folder and nothing else", async () => {
    const folder = await mkdtemp(join(tmpdir(), "shell-test-"));
    await writeFile(join(folder, "index.html"), "<title>x</title>");
    const get = (url: string, method = "GET"): Promise<Response> => respond(new Request(url, { method }), folder);
    const page = await get("workbench://app/index.html");
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toContain("text/html");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect((await get("workbench://app/%2e%2e%2fsecret")).status).toBe(404);
    expect((await get("workbench://other/index.html")).status).toBe(403);
    expect((await get("workbench://app/index.html", "POST")).status).toBe(403);
    await rm(folder, { recursive: true });
  });

  it("is a standard, secure scheme", () => {
    const register = vi.fn();
    registerScheme({ registerSchemesAsPrivileged: register });
    expect(register.mock.calls[0]?.[0]).toMatchObject([
      { scheme: "workbench", privileges: { standard: true, secure: true } },
    ]);
  });
});

describe("the menu", () => {
  it("has every command that names a menu, with its shortcut", () => {
    const sent: string[] = [];
    const menus = menuTemplate((command) => sent.push(command), {
      mac: true,
      checkForUpdates: () => sent.push("updates"),
      newWindow: () => sent.push("window"),
      openSettings: () => sent.push("file.settings"),
    });
    const items = menus.flatMap((menu) => (Array.isArray(menu.submenu) ? menu.submenu : []));
    for (const command of COMMANDS.filter((c) => c.menu !== null)) {
      const own = menus.find((menu) => menu.label === command.menu)?.submenu;
      // Settings are in the app's own menu.
      const all = Array.isArray(own) ? [...own, ...items] : items;
      const item = all.find((entry) => entry.label === command.title);
      expect(item, command.title).toBeDefined();
      const click: unknown = item?.click;
      if (typeof click === "function") Reflect.apply(click, undefined, []);
      expect(sent.at(-1)).toBe(command.id);
    }
    expect(items.find((item) => item.label === "Commands")?.accelerator).toBe("CommandOrControl+K");
  });
});

describe("files and commands from the system", () => {
  it("wait for a receiver, in their order", () => {
    const mail = createMailbox();
    mail.post(CHANNELS.openFile, "/a.gguf");
    mail.post(CHANNELS.command, "view.run");
    const received: (readonly string[])[] = [];
    const receive = (...message: readonly string[]): void => void received.push(message);
    mail.deliverTo(receive);
    mail.post(CHANNELS.openFile, "/b.gguf");
    mail.hold();
    mail.post(CHANNELS.openFile, "/c.gguf");
    expect(received).toEqual([
      [CHANNELS.openFile, "/a.gguf"],
      [CHANNELS.command, "view.run"],
      [CHANNELS.openFile, "/b.gguf"],
    ]);
    mail.deliverTo(receive);
    expect(received.at(-1)).toEqual([CHANNELS.openFile, "/c.gguf"]);
  });

  it("are whatever was named at the start: what is missing or no model is told, not dropped", () => {
    const named = ["--flag", ".", "m.gguf", "missing.gguf", "weights.bin", "/else/where", "", "-psn_0_1"];
    expect(filesOf(named, "/models", ["/models"])).toEqual([
      "/models/m.gguf",
      "/models/missing.gguf",
      "/models/weights.bin",
      "/else/where",
    ]);
  });
});
