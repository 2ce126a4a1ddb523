/** What is dropped, opened by a path, and set for the machine, through the window's real store over the recorded engine. */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Job } from "../../main/contract/views/engine.ts";
import { pause } from "../engine/recorded/replay.ts";
import type { RecordedOptions } from "../engine/recorded/replay.ts";
import { createStoreOver } from "../testing/openStore.ts";
import { endedLong, sentenceOf } from "./longWork.ts";
import type { WorkbenchStore } from "./store.ts";
import { firstParts } from "./useDrop.ts";

afterEach(() => vi.unstubAllGlobals());

async function windowOver(options: RecordedOptions = {}): Promise<WorkbenchStore> {
  vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined });
  vi.stubGlobal("document", { documentElement: { dataset: {} }, hasFocus: () => true });
  vi.stubGlobal("matchMedia", () => ({ matches: false }));
  return (await createStoreOver(options)).store;
}

async function until(
  store: WorkbenchStore,
  holds: (state: ReturnType<WorkbenchStore["getState"]>) => boolean,
): Promise<void> {
  for (let i = 0; i < 300 && !holds(store.getState()); i++) await pause(10);
  expect(holds(store.getState())).toBe(true);
}

const file = (name: string): File => new File(["x"], name);
const found = (name: string, problem: string | null = null) => ({
  ...{ path: `/m/${name}.gguf`, name, place: "folder" as const, where: "/m", bytes: 5, parts: 1, problem },
  ...{ variant: "Q4_K_M", architecture: "qwen3", changedAt: 0 },
});

describe("several files at one drop", () => {
  it("ask which model is opened, and say what was left out", async () => {
    const store = await windowOver();
    store.getState().openFiles([file("b.gguf"), file("a.gguf"), file("notes.txt")]);
    const { choice } = store.getState();
    expect(choice?.title).toBe("2 models were dropped");
    expect(choice?.options.map(({ name }) => name)).toEqual(["a.gguf", "b.gguf"]);
    expect(choice?.note).toBe("No model, left out: notes.txt.");
    store.getState().choose(null);
    expect(store.getState().choice).toBeNull();
    expect(store.getState().model.kind).toBe("idle");
  });

  it("open a split model as one, with the size of its parts", async () => {
    const begun: string[] = [];
    const store = await windowOver({
      calls: {
        "header.begin": ({ name, beside }) => {
          begun.push(name, ...beside.map((each) => each.name));
          throw new Error("enough");
        },
      },
    });
    store.getState().openFiles([file("m-00002-of-00002.gguf"), file("m-00001-of-00002.gguf"), file("x.png")]);
    await until(store, () => begun.length > 0);
    expect(begun.slice(0, 3)).toEqual(["m-00001-of-00002.gguf", "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"]);
    expect(store.getState().choice).toBeNull();
    expect(store.getState().notices.map(({ text }) => text)).toContain("No model, left out: x.png.");
  });

  it("of a split model on the disk the first part is opened", () => {
    expect(firstParts(["/m/a-00002-of-00002.gguf", "/m/b.gguf", "/m/a-00001-of-00002.gguf"])).toEqual([
      "/m/a-00001-of-00002.gguf",
      "/m/b.gguf",
    ]);
  });
});

describe("a path", () => {
  it("to a folder lists its models, and opens the only one that can be opened", async () => {
    const opened: unknown[] = [];
    const lists = { one: [found("a"), found("cut", "damaged")], two: [found("a"), found("b")] };
    const store = await windowOver({
      calls: {
        "models.look": ({ path }) => ({ isModel: false, models: path === "/one" ? lists.one : lists.two, note: null }),
        "model.open": ({ source }) => {
          opened.push(source);
          throw new Error("enough");
        },
      },
    });
    await until(store, ({ connection }) => connection === "connected");
    await store.getState().openPaths(["/two"]);
    expect(store.getState().choice?.options).toHaveLength(2);
    store.getState().choose(null);
    await store.getState().openPaths(["/one"]);
    expect(store.getState().choice).toBeNull();
    await until(store, () => opened.length === 1);
    expect(opened).toEqual([{ kind: "path", path: "/m/a.gguf" }]);
  });

  it("to a session's file goes on with it", async () => {
    const asked: string[] = [];
    const store = await windowOver({
      calls: {
        "sessions.read": ({ path }) => {
          asked.push(path);
          return { text: "{}" };
        },
      },
    });
    await until(store, ({ connection }) => connection === "connected");
    await store.getState().openPaths(["/m/talk.rlxsession"]);
    expect(asked).toEqual(["/m/talk.rlxsession"]);
    await until(store, ({ notices }) => notices.some(({ title }) => title === "talk.rlxsession could not be imported"));
  });
});

describe("settings", () => {
  it("of the appearance count for the window at once", async () => {
    const store = await windowOver();
    await until(store, ({ preferences }) => preferences !== null);
    expect(store.getState().theme).toBe("auto");
    await store.getState().changePreferences({ appearance: "dark" });
    expect(store.getState().theme).toBe("dark");
    expect(document.documentElement.dataset["theme"]).toBe("dark");
  });

  it("of the first subject count for a model that is opened, until a person chooses", async () => {
    const store = await windowOver();
    await until(store, ({ preferences }) => preferences !== null);
    await store.getState().changePreferences({ firstSubject: "cpu" });
    await store.getState().open({ kind: "offer", id: "sample" });
    await until(store, ({ backend }) => backend === "cpu");
    store.getState().setBackend("coreml");
    await store.getState().changePreferences({ firstSubject: "mlx" });
    expect(store.getState().backend).toBe("coreml");
  });
});

describe("long work", () => {
  const job = (id: string, kind: Job["kind"], elapsedSeconds: number): Job => ({
    ...{ id, kind, elapsedSeconds, title: "Pebble", model: "m1", phase: "", fraction: null },
  });

  it("that has ended is announced, but neither short work nor an answer", () => {
    const before = [job("1", "bench", 31), job("2", "run", 100), job("3", "export", 29), job("4", "quantize", 90)];
    expect(endedLong(before, [job("4", "quantize", 92)]).map(({ id }) => id)).toEqual(["1"]);
    expect(sentenceOf(job("1", "bench", 61))).toMatch(/^The benchmark has ended after .*: Pebble$/u);
  });
});
