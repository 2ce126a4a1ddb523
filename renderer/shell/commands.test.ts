// Commands that a palette finds: each shows its place and does its work there.
import { expect, it, vi } from "vitest";
import { until } from "../../main/testing/until.ts";
import type { ShellBridge } from "../../main/contract/shell.ts";
import { current } from "../session/async.ts";
import { createStoreOver, openSample } from "../testing/openStore.ts";
import { trainingEngine } from "../testing/training.ts";
import { SAMPLE } from "../testing/sample.ts";
import { createCommands } from "./commands.ts";
import { rankCommands } from "./rankCommands.ts";

const commandsOver = (store: Awaited<ReturnType<typeof openSample>>["store"]) =>
  createCommands({ store, shell: null, pickFile: () => undefined, pickSession: () => undefined });

it("checks the file of an open model in the table of its tensors", async () => {
  const { get, store } = await openSample();
  const command = commandsOver(store)["model.check"];
  expect(command.enabled()).toBe(true);
  command.run();
  expect([get().tab, get().checkRunning]).toEqual(["tensors", true]);
  await until(() => get().checkReport !== null);
  expect(get().lastCommand).toBe("rlx check --sample");
  expect(rankCommands("broken file")[0]?.id).toBe("model.check");
});

it("shows what is to be written, also after another was shown", async () => {
  const { get, store } = await openSample();
  store.setState({ tab: "overview" });
  // Without a window there is no focus to give.
  vi.stubGlobal("requestAnimationFrame", () => 0);
  const commands = commandsOver(store);
  for (const [id, kind] of [
    ["file.quantize", "quantize"],
    ["file.convert", "convert"],
    ["file.export", "package"],
  ] as const) {
    expect(commands[id].enabled()).toBe(true);
    commands[id].run();
    expect([get().tab, get().writeKind]).toEqual(["export", kind]);
  }
  expect(rankCommands("quantize")[0]?.id).toBe("file.quantize");
});

it("has no benchmark and no recording where a graph alone is open, but its export", async () => {
  const { store, get } = await openSample();
  const commands = commandsOver(store);
  const offered = () => (["model.bench", "model.profile", "file.export"] as const).map((id) => commands[id].enabled());
  expect(offered()).toEqual([true, true, true]);
  const overview = current(get().model)!;
  store.setState({ model: { kind: "ready", value: { ...overview, kind: "text", file: null } } });
  expect(offered()).toEqual([false, false, true]);
});

it("offers neither without a model", async () => {
  const { store } = await createStoreOver();
  const commands = commandsOver(store);
  expect((["model.check", "file.quantize", "file.convert"] as const).map((id) => commands[id].enabled())).toEqual([
    false,
    false,
    false,
  ]);
});

it("shows the settings in a window of their own where there is a shell, and shares on a Mac only", async () => {
  const { store, get } = await openSample();
  const openSettings = vi.fn();
  const shell = { openSettings } as unknown as ShellBridge;
  createCommands({ ...{ store, shell }, pickFile: () => undefined, pickSession: () => undefined })[
    "file.settings"
  ].run();
  expect([openSettings.mock.calls.length, get().dialog]).toEqual([1, null]);
  commandsOver(store)["file.settings"].run();
  expect(get().dialog).toBe("settings");
  const share = vi.fn();
  const outside = { startDrag: vi.fn(), stage: vi.fn(), share };
  const command = commandsOver(store)["file.share"];
  for (const [ways, isThere] of [
    [null, false],
    [{ ...outside, share: null }, false],
    [outside, true],
  ] as const) {
    store.setState({ outside: ways });
    expect(command.enabled()).toBe(isThere);
  }
  command.run();
  expect(share).toHaveBeenCalledWith(current(get().model)?.file?.path);
});

it.each(["server", "train"] as const)(
  "shows %s without a model too, and the first screen again when one was open",
  async (id) => {
    const { store, get } = await createStoreOver();
    const command = commandsOver(store)[`view.${id}`];
    expect(command.enabled()).toBe(true);
    command.run();
    expect(get().startPage).toBe(id);
    await get().open(SAMPLE);
    expect(get().startPage).toBe("first");
    vi.stubGlobal("requestAnimationFrame", () => 0);
    command.run();
    expect([get().tab, get().startPage]).toEqual([id, "first"]);
  },
);

it("stops a training only where that is in sight: it takes long, and other tabs have a Run and a Stop of their own", async () => {
  vi.stubGlobal("requestAnimationFrame", () => 0);
  const { store, get } = await openSample(trainingEngine().options);
  const commands = commandsOver(store);
  await get().loadTrainRecipes();
  expect(commands["model.train"].enabled()).toBe(true);
  get().setTrain({ numbers: { ...get().trainForm!.numbers, steps: "100000" } });
  commands["model.train"].run();
  await vi.waitFor(() => expect(get().trainRun?.started).toBeTruthy());
  expect([commands["model.train"].enabled(), commands["model.stop"].enabled()]).toEqual([false, false]);
  commands["view.train"].run();
  expect(commands["model.stop"].enabled()).toBe(true);
  commands["model.stop"].run();
  await vi.waitFor(() => expect(get().trainRun?.state).toBe("stopped"));
});

it("finds on through the view whose search is open, and through the graph's hits otherwise", async () => {
  const { store, get } = await openSample();
  const commands = commandsOver(store);
  store.setState({ tab: "bench" });
  expect(commands["edit.findNext"].enabled()).toBe(false);
  get().showFind(true);
  get().setFindWords("t/s");
  commands["edit.findNext"].run();
  commands["edit.findPrevious"].run();
  commands["edit.findPrevious"].run();
  expect([get().tab, get().findAt]).toEqual(["bench", -1]);
  get().setFindWords("ops");
  expect(get().findAt).toBe(0);
});
