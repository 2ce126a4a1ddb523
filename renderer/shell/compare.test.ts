/** The Compare tab in the window's real store: words of a kept session, and a measurement of two files that goes into the Bench list. */
import { expect, it, vi } from "vitest";
import type { StreamInputOf } from "../../main/contract/contract.ts";
import type { Comparison } from "../../main/contract/views/compare.ts";
import { pause } from "../engine/recorded/replay.ts";
import type { RecordedOptions } from "../engine/recorded/replay.ts";
import { benchResultOf, benchTestOf, SUBJECT } from "../testing/bench.ts";
import { createStoreOver } from "../testing/openStore.ts";
import { sample, sampleTarget } from "../testing/sample.ts";

type Asked = StreamInputOf<"compare.run">;

const SUBJECT_OF_SIDE = { backend: "cpu" as const, target: sampleTarget };
const SIDE = {
  subject: SUBJECT_OF_SIDE,
  title: "S",
  variant: "Q8_0",
  file: null,
  subjectTitle: "CPU",
  machine: "",
  refusal: null,
};
const COMPARISON: Comparison = {
  ...{ a: SIDE, b: SIDE, phase: "decode", sentences: ["Nothing differs."], same: "no", equal: false },
  ...{ facts: [], keys: { same: 0, rows: [], more: 0 } },
  tensors: { same: 0, differing: 0, rows: [], more: 0, types: [] },
  ...{ graph: null, routing: null, numbers: [], costs: [], speed: null, words: null },
};
const DONE = benchResultOf([benchTestOf("tg", [10, 11]), benchTestOf("tg", [20, 22], { subject: 1 })], {
  subjects: [
    { ...SUBJECT, model: sample.model },
    { ...SUBJECT, model: "m2" },
  ],
});

/** A window that notes what it asks to be compared and measured; `/a.gguf` is the sample, every other path another model. */
async function windowThatNotes(options: RecordedOptions = {}) {
  vi.stubGlobal("document", { documentElement: { dataset: {} }, hasFocus: () => true });
  const compared: Asked[] = [];
  const measured: StreamInputOf<"bench.run">[] = [];
  const opened = await createStoreOver({
    calls: {
      "model.open": ({ source }) =>
        source.kind === "path" && source.path !== "/a.gguf" ? { ...sample, model: "m2" } : sample,
      "recents.list": () => ({ recents: [] }),
      ...options.calls,
    },
    streams: {
      async *"compare.run"(input) {
        compared.push(input);
        await pause(0);
        yield { kind: "done", comparison: COMPARISON };
      },
      async *"bench.run"(input) {
        measured.push(input);
        await pause(0);
        yield DONE;
      },
    },
  });
  const until = async (holds: () => boolean): Promise<void> => {
    for (let i = 0; i < 300 && !holds(); i++) await pause(10);
    expect(holds()).toBe(true);
  };
  return { ...opened, compared, measured, until };
}

it("opens the first of two files, puts both on a runtime of this machine and keeps what was measured in the Bench list", async () => {
  const { get, compared, measured, until } = await windowThatNotes();
  await get().compareFiles("/a.gguf", "/b.gguf");
  await until(() => measured.length === 1 && get().comparing === null);
  expect(get().tab).toBe("compare");
  expect(get().sides?.b.model).toEqual({ kind: "file", path: "/b.gguf" });
  expect(measured[0]).toMatchObject({ model: sample.model, others: ["m2"], device: ["cpu"], conditions: "wait" });
  expect(get().benchResults.map(({ result }) => result)).toEqual([DONE]);
  // Compared once more, with what was measured in turn.
  expect(compared.at(-1)?.speed).toMatchObject({ together: true, a: { subject: 0 }, b: { subject: 1 } });
  // Measured once: shown again, the tab only compares.
  await get().beginCompare();
  expect(measured).toHaveLength(1);
});

it("measures both on the first runtime that is here, where the chosen ones are not", async () => {
  const { get, compared, measured, until } = await windowThatNotes();
  await get().open({ kind: "path", path: "/a.gguf" });
  await get().beginCompare();
  get().chooseSide("a", { model: { kind: "open" }, on: { backend: "coreml", units: "all" } });
  get().chooseSide("b", { model: { kind: "file", path: "/b.gguf" }, on: { backend: "coreml", units: "cpu-ane" } });
  await until(() => compared.at(-1)?.b.model === "m2" && get().comparing === null);
  expect(get().sidesRefusal).toMatch(/^Core ML is measured on no device of this machine/u);
  await get().benchSides();
  expect(measured).toEqual([]);
  await get().measureHere();
  await until(() => measured.length === 1 && get().comparing === null);
  expect(get().sides).toMatchObject({ a: { on: { backend: "cpu" } }, b: { on: { backend: "cpu" } } });
  expect(measured[0]).toMatchObject({ model: sample.model, others: ["m2"], device: ["cpu"], conditions: "wait" });
  expect(get().sidesRefusal).toBeNull();
  expect(compared.at(-1)?.speed).toMatchObject({ together: true });
});

it("of a large file compares with another runtime at once, and prepares nothing else meanwhile", async () => {
  const large = { ...sample, file: sample.file && { ...sample.file, tensorCount: 2000 } };
  const asked: string[] = [];
  const advised: boolean[] = [];
  const { get, compared, until } = await windowThatNotes({
    calls: {
      "model.open": () => large,
      "verdict.get": () => {
        asked.push("verdict");
        throw new Error("not asked for");
      },
      "advice.list": async (_, { signal }) => {
        advised.push(get().comparing !== null);
        await pause(advised.length === 1 ? 300 : 0);
        signal.throwIfAborted();
        throw new Error("enough");
      },
    },
  });
  await get().open({ kind: "path", path: "/a.gguf" });
  await until(() => advised.length === 1);
  asked.length = 0;
  await get().beginCompare();
  expect(asked).toEqual([]);
  expect(compared[0]).toMatchObject({ a: { subject: { backend: "coreml" } }, b: { subject: { backend: "cpu" } } });
  // Ended for the comparison, and asked for again after it.
  await until(() => advised.length === 2);
  expect(advised).toEqual([false, false]);
});

it("compares the words of an answer here with those of a kept session", async () => {
  const run = { id: 4, mode: "chat", prompt: "Why?", text: "Because it is." };
  const text = JSON.stringify({
    ...{ format: "rlx-session", version: 1, writtenBy: "1", savedAt: 0, open: "x", parts: {} },
    models: [
      {
        ...{ identity: "x", source: { kind: "path", path: "/b.gguf" }, title: "Other", variant: "Q8_0" },
        ...{ headerHash: null, bytes: 1, usedAt: 0 },
        parts: { runs: [run] },
      },
    ],
  });
  const { store, get, compared, until } = await windowThatNotes({ calls: { "sessions.load": () => ({ text }) } });
  await get().open({ kind: "path", path: "/a.gguf" });
  await get().beginCompare();
  store.setState({ runHistory: [{ ...run, id: 1, text: "Because." }] } as never);
  get().chooseSide("a", { model: { kind: "run", id: 1 }, on: null });
  get().chooseSide("b", { model: { kind: "session", session: "kept-one" }, on: null });
  await until(() => (compared.at(-1)?.answers ?? null) !== null && get().comparing === null);
  expect(compared.at(-1)?.answers).toEqual({
    a: { name: "Chat 1", prompt: "Why?", text: "Because." },
    b: { name: "Chat 4 of that session", prompt: "Why?", text: "Because it is." },
  });
  expect(get().comparedAnswers).toEqual({ a: "Because.", b: "Because it is." });
});
