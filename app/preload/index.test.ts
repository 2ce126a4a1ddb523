// The bridge, against a stand-in for Electron: what comes before the page listens is not lost.
import { expect, it, vi } from "vitest";
import type { ShellBridge } from "../../main/contract/shell.ts";
import { CHANNELS } from "../channels.ts";

const heard = vi.hoisted(() => ({
  bridge: undefined as unknown,
  on: new Map<string, (event: unknown, text: unknown) => void>(),
}));
vi.mock("electron", () => ({
  contextBridge: { exposeInMainWorld: (_name: string, bridge: unknown) => (heard.bridge = bridge) },
  ipcRenderer: { on: (channel: string, listener: () => void) => heard.on.set(channel, listener), send: vi.fn() },
  webUtils: {},
}));
await import("./index.ts");

it("keeps what the shell says until the page listens, and between two listeners", () => {
  const { onOpenFile, onCommand } = heard.bridge as ShellBridge;
  const say = (text: unknown): void => heard.on.get(CHANNELS.openFile)?.({}, text);
  say("/early.gguf");
  say({ not: "a path" });
  const first: string[] = [];
  const stop = onOpenFile((path) => first.push(path));
  say("/now.gguf");
  expect(first).toEqual(["/early.gguf", "/now.gguf"]);
  stop();
  say("/between.gguf");
  const second: string[] = [];
  onOpenFile((path) => second.push(path));
  expect([first.length, second]).toEqual([2, ["/between.gguf"]]);
  const commands: string[] = [];
  onCommand((command) => commands.push(command));
  expect(commands).toEqual([]);
});
