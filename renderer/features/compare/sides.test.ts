/** What stands on a side: first choices, the target of a side, and what a kept session gives. */
import { expect, it } from "vitest";
import type { Subject } from "../../../main/contract/views/cost.ts";
import type { DeviceInfo } from "../../../main/contract/views/engine.ts";
import type { SessionDocument } from "../../../main/contract/views/session.ts";
import { initialSides, keyOf, measurableOn, sideOfSession, subjectOn, TARGETS } from "./sides.ts";

const WINDOW: Subject = {
  backend: "coreml",
  target: { chip: "m4", os: "macos15", units: "cpu-ane", profile: "ane", context: 512 },
};
const open = { file: null, argument: null };

it("puts the last other file beside the open model, or else the best other target", () => {
  const recents = [
    { path: "/gone.gguf", exists: false },
    { path: "/other.gguf", exists: true },
  ];
  const best: Subject = { ...WINDOW, backend: "mlx" };
  const first = { recents, best, window: WINDOW, devices: [] };
  expect(initialSides(open, first)).toEqual({
    a: { model: { kind: "open" }, on: null },
    b: { model: { kind: "file", path: "/other.gguf" }, on: null },
  });
  const alone = { ...first, recents: [] };
  expect(initialSides(open, alone).b).toEqual({ model: { kind: "open" }, on: { backend: "mlx", units: null } });
  expect(initialSides(open, { ...alone, best: null }).b.on).toEqual({ backend: "coreml", units: "all" });
  const onAll = { ...WINDOW, target: { ...WINDOW.target, units: "all" } } as const;
  expect(initialSides(open, { ...alone, best: null, window: onAll }).b.on).toEqual({
    backend: "coreml",
    units: "cpu-ane",
  });
});

it("puts two files on a runtime that measures here, and says why another does not", () => {
  const device = (id: "coreml" | "cpu", backend: "coreml" | "cpu", available: boolean): DeviceInfo =>
    ({
      id,
      backend,
      available,
      sentence: "Core ML exists on Macs only.",
      capabilities: { measure: available },
    }) as never;
  const devices = [device("coreml", "coreml", false), device("cpu", "cpu", true)];
  const recents = [{ path: "/other.gguf", exists: true }];
  const { a, b } = initialSides(open, { recents, best: null, window: WINDOW, devices });
  expect([a.on, b.on]).toEqual([
    { backend: "cpu", units: null },
    { backend: "cpu", units: null },
  ]);
  const onMac = initialSides(open, {
    recents,
    best: null,
    window: WINDOW,
    devices: [device("coreml", "coreml", true)],
  });
  expect(onMac.a.on).toBeNull();
  expect(measurableOn("cpu", devices)).toEqual({ device: "cpu" });
  expect(measurableOn("coreml", devices)).toEqual({
    why: "Core ML is measured on no device of this machine. Core ML exists on Macs only.",
  });
});

it("takes the window's target, with other units in their own profile", () => {
  expect(subjectOn(null, WINDOW)).toBe(WINDOW);
  expect(subjectOn({ backend: "coreml", units: "cpu-ane" }, WINDOW).target.profile).toBe("ane");
  expect(subjectOn({ backend: "coreml", units: "all" }, WINDOW).target).toMatchObject({
    units: "all",
    profile: "auto",
  });
  expect(subjectOn({ backend: "cpu", units: null }, WINDOW)).toEqual({ ...WINDOW, backend: "cpu" });
  expect(new Set(TARGETS.map(({ on }) => keyOf(on))).size).toBe(TARGETS.length);
});

it("reads file, target and newest answer of a kept session, and says why there is none", () => {
  const model = {
    ...{ identity: "x", title: "Toy", variant: "F32", headerHash: "h", bytes: 1, usedAt: 1 },
    source: { kind: "path" as const, path: "/toy.gguf" },
    parts: {
      target: { target: { ...WINDOW.target, units: "all" }, phase: "decode", backend: "coreml" },
      runs: [{ id: 3, mode: "chat", prompt: "Why?", text: "So." }],
    } as unknown as SessionDocument["parts"],
  };
  const document: SessionDocument = {
    ...{ format: "rlx-session", version: 1, writtenBy: "0", savedAt: 1, parts: {}, open: "x" },
    models: [model],
  };
  expect(sideOfSession(document, WINDOW)).toMatchObject({
    source: { kind: "path", path: "/toy.gguf" },
    subject: { target: { units: "all" } },
    answer: { name: "Chat 3 of that session", text: "So." },
    measured: null,
  });
  // Of another form: the session still stands for its file.
  const strange = { ...document, models: [{ ...model, parts: { target: 7, runs: "none" } }] };
  expect(sideOfSession(strange, WINDOW)).toMatchObject({ subject: WINDOW, answer: null });
  const named = { ...document, models: [{ ...model, source: { kind: "name" as const, name: "toy.gguf" } }] };
  expect(sideOfSession(named, WINDOW)).toContain("toy.gguf");
  expect(sideOfSession({ ...document, models: [] }, WINDOW)).toBe("This session has no model.");
});
