import { describe, expect, it } from "vitest";
import type { CompileRecord } from "../../contract/views/compiles.ts";
import { secondsText } from "../../contract/views/compiles.ts";
import type { LedgerEntry } from "./compileLedger.ts";
import {
  changedAnswers,
  changedSentence,
  changesOf,
  estimateLoad,
  ledgerOf,
  ledgerRows,
  systemBefore,
} from "./compileLedger.ts";

const NOW = { chip: "Apple M3 Pro", os: "15.5.0", osBuild: "24F74" };
const BEFORE = { ...NOW, os: "15.4.1", osBuild: "24E263" };
const record = (over: Partial<CompileRecord> = {}): CompileRecord => ({
  version: 1,
  why: "first",
  truth: "simulated",
  content: "c0ffee",
  function: "decode",
  units: "cpu-ane",
  target: "M3 family",
  packageBytes: 1e6,
  seconds: 40,
  stages: [],
  result: "ok",
  stage: null,
  code: null,
  message: null,
  failure: null,
  plan: null,
  ...NOW,
  ...over,
});
const entry = (at: number, over: Partial<CompileRecord> = {}, identity = "m"): LedgerEntry => ({
  at,
  title: "Model",
  identity,
  record: record(over),
});
const question = { identity: "m", target: "M3 family", units: "cpu-ane", system: NOW } as const;

describe("how long a load takes", () => {
  it("says that nothing is known, and counts only what is alike and ended", () => {
    const others = [
      entry(1, {}, "another model"),
      entry(2, { units: "cpu" }),
      entry(3, { target: "other shapes" }),
      entry(4, { chip: "Apple M1" }),
      entry(5, { result: "cancelled", seconds: 3 }),
      entry(6, { result: "killed", seconds: 3 }),
    ];
    expect(estimateLoad(others, question)).toEqual({
      seconds: null,
      count: 0,
      sentence: "No earlier load of it on this Mac: no time is known.",
    });
  });

  it("gives the range of the loads before", () => {
    const told = estimateLoad(
      [entry(3, { seconds: 52 }), entry(2, { seconds: 40 }), entry(1, { seconds: 38 })],
      question,
    );
    expect(told.seconds).toEqual({ low: 38, typical: 40, high: 52 });
    expect(told.sentence).toBe("About 40 s (38 s to 52 s), from 3 earlier loads on this Mac.");
    expect(estimateLoad([entry(1)], question).sentence).toBe("About 40 s, from 1 earlier load on this Mac.");
  });

  it("adds the functions of a package", () => {
    const both = [entry(2, { function: "prefill", seconds: 25 }), entry(1, { seconds: 15 })];
    expect(estimateLoad(both, question)).toMatchObject({ seconds: { typical: 40 }, count: 1 });
    expect(estimateLoad(both, { ...question, function: "prefill" })).toMatchObject({ seconds: { typical: 25 } });
  });

  it("prefers this build, and says when it only knows another", () => {
    const old = entry(1, { ...BEFORE, seconds: 200 });
    expect(estimateLoad([entry(2), old], question)).toMatchObject({ seconds: { typical: 40 }, count: 1 });
    expect(estimateLoad([old], question).sentence).toBe(
      "About 3 min, from 1 earlier load on this Mac, under another build of macOS.",
    );
  });

  it("writes times as people say them", () => {
    expect([0.2, 12.4, 89, 240, 11_900].map(secondsText)).toEqual(["under a second", "12 s", "89 s", "4 min", "3.3 h"]);
  });
});

describe("the list", () => {
  it("has a row for each model, function and units, the last result in it", () => {
    const entries = [
      entry(3, { result: "killed", stage: "first prediction" }),
      entry(2, { function: "prefill" }),
      entry(1),
    ];
    const rows = ledgerRows(entries, {
      kept: new Set(["c0ffee"]),
      unsafe: ({ result }) => (result === "killed" ? "key" : null),
      system: NOW,
    });
    expect(rows.map((row) => [row.function, row.loads, row.last.result, row.unsafe, row.kept])).toEqual([
      ["decode", 2, "killed", "key", true],
      ["prefill", 1, "ok", null, true],
    ]);
  });

  it("leaves out lines of another version", () => {
    const model = { title: "Model", identity: "m", path: null };
    const lines = [
      { at: 1, model, value: record() },
      { at: 2, model, value: { version: 2 } },
    ];
    expect(ledgerOf(lines).map(({ at }) => at)).toEqual([1]);
  });
});

describe("after an update of the system", () => {
  it("notices another build, not another chip", () => {
    expect(systemBefore([entry(1)], NOW)).toBeUndefined();
    expect(systemBefore([], NOW)).toBeUndefined();
    expect(systemBefore([entry(1, { chip: "Apple M1" })], NOW)).toBeUndefined();
    expect(systemBefore([entry(1, BEFORE)], NOW)).toEqual(BEFORE);
    expect(changedSentence(BEFORE, NOW)).toContain(
      "macOS 15.5.0 (24F74) runs here now; the last loads were on macOS 15.4.1 (24E263)",
    );
  });

  it("names what a model lost", () => {
    const plan = { ane: 0.97, gpu: 0, cpu: 0.03 };
    const before = record({ ...BEFORE, plan });
    expect(changesOf("Model", before, record({ plan }))).toEqual([]);
    expect(
      changesOf(
        "Model",
        before,
        record({
          result: "failed",
          stage: "load",
          failure: { id: "plan-build", title: "No plan (-14)", number: -14, sentence: "" },
        }),
      ),
    ).toEqual([
      { what: "Model, decode on cpu-ane", before: "loads", after: "fails in load: No plan (-14)", worse: true },
    ]);
    expect(changesOf("Model", before, record({ seconds: 130, plan: { ane: 0.4, gpu: 0, cpu: 0.6 } }))).toMatchObject([
      { what: "Model, decode on cpu-ane: first load", before: "40 s", after: "2 min", worse: true },
      {
        what: "Model, decode on cpu-ane: share planned for the Neural Engine",
        before: "97 %",
        after: "40 %",
        worse: true,
      },
      { what: "Model, decode on cpu-ane: share planned for the CPU", before: "3 %", after: "60 %", worse: true },
    ]);
    expect(changesOf("Model", record({ ...BEFORE, result: "killed", stage: "load" }), record())).toMatchObject([
      { before: "ends its helper in load", after: "loads", worse: false },
    ]);
  });

  it("names answers that changed", () => {
    const answers = (first: string) => ({
      ...NOW,
      version: 1 as const,
      answers: [
        { id: "pin", answer: first },
        { id: "left-out", answer: "yes" },
      ],
    });
    expect(changedAnswers(answers("yes"), answers("no"))).toEqual([
      { what: "Question pin", before: "yes", after: "no", worse: true },
    ]);
  });
});
