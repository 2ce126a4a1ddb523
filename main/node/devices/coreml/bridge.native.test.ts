// The bridge from JavaScript over the Core ML double: the sample model as a package gives the CPU engine's tokens, states and
// batches and plans answer, every failure has its code, cancel is quick, and a child that dies is survived and remembered.
import { setMaxListeners } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import { loadDouble, noDouble } from "../../../testing/coremlDouble.ts";
import type { DoubleControls } from "../../../testing/coremlDoubleEvaluator.ts";
import { writeTinyPackage, writeTypedPackage } from "../../../testing/tinyPackage.ts";
import type { CoremlBridge, CoremlLoadOptions } from "./native.ts";
import { loadCoreml } from "./native.ts";
import type { TrialKey, TrialRequest } from "./trial.ts";
import { runTrial, TrialBook, tryOnce } from "./trial.ts";

const ANE: CoremlLoadOptions = { units: "cpu-ane" };

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "none";
  } catch (error) {
    return error instanceof WorkbenchError ? error.code : String(error);
  }
}

describe("without Core ML", () => {
  it.skipIf(process.platform === "darwin")("says in one sentence what is missing (not where this is a Mac)", () => {
    expect(() => loadCoreml()).toThrow(/Macs only; the simulator/);
    expect(() => loadCoreml("/nowhere/rlx_coreml.node")).toThrow(expect.objectContaining({ code: "ENV_NO_ADDON" }));
  });
});

describe.skipIf(noDouble)(`bridge ${noDouble ?? ""}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "rlx-bridge-"));
  const packagePath = join(folder, "tiny.mlpackage");
  const compiled = join(folder, "tiny.mlmodelc");
  let bridge: CoremlBridge;
  let controls: DoubleControls;

  beforeAll(async () => {
    ({ bridge, controls } = loadDouble());
    await writeTinyPackage(packagePath);
    await bridge.compile(packagePath, compiled);
  });
  afterEach(() => controls.configure(""));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("predicts with typed arrays, and reads padded outputs by their strides", async () => {
    const model = await bridge.load(compiled, ANE);
    const x = Float32Array.from({ length: 2 * 200 }, (_, i) => (i % 31) - 15);
    for (const blocking of [false, true]) {
      const { outputs, seconds, systemSeconds } = await model.predict([{ name: "x", data: x }], { blocking });
      const y = outputs.find((output) => output.name === "y");
      expect(y?.shape).toEqual([2, 200]);
      expect(y?.data).toEqual(x.map((v) => v + 1));
      expect(seconds).toBeGreaterThanOrEqual(systemSeconds);
    }
    const halves = await model.predict([{ name: "x", data: x }], { keepHalf: true });
    expect(halves.outputs[0]?.data).toBeInstanceOf(Uint16Array);
    model.dispose();
  });

  it("keeps states: read, write, copy, and a loop of steps", async () => {
    const model = await bridge.load(compiled, ANE);
    const state = model.newState();
    const x = new Float32Array(400).fill(1);
    for (let i = 0; i < 10; i++) await model.predict([{ name: "x", data: x }], { state });
    expect((await state.read("total")).data[0]).toBe(10);
    const copy = await state.copy();
    await copy.write({ name: "total", data: new Float32Array(400).fill(5) });
    await Promise.all(Array.from({ length: 5 }, () => model.predict([{ name: "x", data: x }], { state: copy })));
    expect((await copy.read("total")).data[399]).toBe(10);
    expect((await state.read("total")).data[399]).toBe(10);
    copy.dispose();
    expect(await codeOf(state.read("nothing"))).toBe("INPUT_ARGUMENT");
    state.dispose();
    expect(await codeOf(state.read("total"))).toBe("HANDLE_UNKNOWN");
    model.dispose();
    expect(await codeOf(model.predict([{ name: "x", data: x }]))).toBe("HANDLE_UNKNOWN");
  });

  it("gives every failure its code", async () => {
    const model = await bridge.load(compiled, ANE);
    const x = new Float32Array(400);
    const predict = (): Promise<unknown> => model.predict([{ name: "x", data: x }]);
    expect(await codeOf(model.predict([]))).toBe("INPUT_ARGUMENT");
    expect(await codeOf(model.predict([{ name: "x", data: new Float32Array(3) }]))).toBe("INPUT_ARGUMENT");
    expect(await codeOf(model.predict([{ name: "x", shape: [-1], data: x }]))).toBe("INPUT_ARGUMENT");
    controls.configure("predict=fail");
    expect(await codeOf(predict())).toBe("COREML_PREDICT");
    controls.configure("predict=throw");
    expect(await codeOf(predict())).toBe("COREML_EXCEPTION");
    controls.configure("predict=cancelled");
    expect(await codeOf(predict())).toBe("CANCELLED");
    controls.configure("load=fail");
    expect(await codeOf(bridge.load(compiled, ANE))).toBe("COREML_LOAD");
    controls.configure("compile=fail");
    expect(await codeOf(bridge.compile(packagePath, join(folder, "other.mlmodelc")))).toBe("COREML_COMPILE");
    controls.configure("os=14.0");
    expect(await codeOf(bridge.plan(compiled, ANE))).toBe("ENV_NO_DEVICE");
    controls.configure("");
    expect(await codeOf(bridge.load(join(folder, "none.mlmodelc"), ANE))).toBe("INPUT_NOT_FOUND");
    expect(await codeOf(bridge.load(compiled, { ...ANE, function: "none" }))).toBe("INPUT_ARGUMENT");
    expect(await codeOf(predict())).toBe("none");
    model.dispose();
  });

  it("cancels between predictions, and leaves a load that takes long", async () => {
    const model = await bridge.load(compiled, ANE);
    controls.configure("predict-ms=100");
    const stop = new AbortController();
    const x = new Float32Array(400);
    const state = model.newState();
    setMaxListeners(20, stop.signal);
    const runs = Array.from({ length: 20 }, () =>
      codeOf(model.predict([{ name: "x", data: x }], { state, signal: stop.signal })),
    );
    expect(await runs[0]).toBe("none");
    stop.abort();
    const codes = await Promise.all(runs);
    expect(codes.filter((code) => code === "CANCELLED").length).toBeGreaterThan(10);

    state.dispose();
    controls.configure("load-ms=2000");
    const left = codeOf(bridge.load(compiled, ANE, AbortSignal.timeout(60)));
    let ended = false;
    const patient = bridge.load(compiled, ANE).finally(() => (ended = true));
    expect(await left).toBe("CANCELLED");
    // It was left in the middle: one that began with it is still loading.
    expect(ended).toBe(false);
    (await patient).dispose();
    model.dispose();
  });

  it("runs batches, lists functions, knows the machine, and plans", async () => {
    const model = await bridge.load(compiled, ANE);
    const item = (value: number) => [{ name: "x", data: new Float32Array(400).fill(value) }];
    const batch = await model.predictBatch([item(1), item(2), item(3)]);
    expect(batch.map(({ outputs }) => outputs[0]?.data[7])).toEqual([2, 3, 4]);
    expect(await bridge.functionNames(compiled)).toEqual([]);
    controls.configure("thermal=2 low-power=1");
    const machine = bridge.machine();
    expect(machine).toMatchObject({ chip: "Apple M3 Pro", os: "15.5.0", gpu: "Apple M3 Pro", unifiedMemory: true });
    expect(machine).toMatchObject({ ane: true, aneCores: 16, rosetta: false, thermal: "serious", lowPower: true });
    expect(machine).toMatchObject({ performanceCores: 6, efficiencyCores: 6, memoryBytes: 24 * 2 ** 30 });
    expect(machine.processBytes).toBeGreaterThan(10e6);
    controls.configure("");
    const plan = await bridge.plan(compiled, ANE);
    expect(plan.hasUsage).toBe(true);
    expect(plan.ops.filter((op) => op.op === "const").every((op) => op.preferred === "")).toBe(true);
    expect(plan.ops.some((op) => op.op === "add" && op.preferred === "ane")).toBe(true);
    model.dispose();
    expect(bridge.counts().handles).toBe(0);
  });

  it("takes every type of feature that Core ML has, halves and int8 as they are", async () => {
    const path = join(folder, "types.mlpackage");
    await writeTypedPackage(path);
    const typed = join(folder, "types.mlmodelc");
    await bridge.compile(path, typed);
    const model = await bridge.load(typed, ANE);
    const inputs = [
      { name: "singles", data: Float32Array.of(1.5, -2, 3) },
      { name: "halves", data: Uint16Array.of(0x3c00, 0xc000, 0x4200) },
      { name: "whole", data: Int32Array.of(1, -2, 300000) },
      { name: "bytes", data: Int8Array.of(1, -2, 127) },
    ];
    for (const blocking of [false, true]) {
      const { outputs } = await model.predict(inputs, { blocking, keepHalf: true });
      const made = Object.fromEntries(outputs.map(({ name, data }) => [name, data]));
      expect(made).toEqual({
        singles_out: Float32Array.of(1.5, -2, 3),
        halves_out: Uint16Array.of(0x3c00, 0xc000, 0x4200),
        whole_out: Int32Array.of(1, -2, 300000),
        bytes_out: Int8Array.of(1, -2, 127),
      });
    }
    expect(model.inputs.find(({ name }) => name === "bytes")?.type).toBe("i8");
    expect(await codeOf(model.predict([{ name: "bytes", data: Float32Array.of(1, 2, 3) }]))).toBe("INPUT_ARGUMENT");
    model.dispose();
  });

  it("gives units, function and hints to the system as they were asked for", async () => {
    for (const [units, number] of [
      ["cpu", 0],
      ["cpu-gpu", 1],
      ["all", 2],
      ["cpu-ane", 3],
    ] as const) {
      (await bridge.load(compiled, { units, title: "named", infrequentReshape: true, fastPrediction: true })).dispose();
      expect(controls.configuration()).toBe(
        `units=${number} low-precision=0 function= title=named reshape=1 strategy=1`,
      );
    }
  });

  it("loads a package from memory", async () => {
    const model = await bridge.load(packagePath, { ...ANE, inMemory: true });
    const made = await model.predict([{ name: "x", data: new Float32Array(400) }]);
    expect(made.outputs[0]?.data[0]).toBe(1);
    model.dispose();
  });

  describe("trial in a child process", () => {
    const request = (name: string): TrialRequest => ({
      program: join(dirname(bridge.path), "rlx-coreml-trial"),
      packagePath,
      compiled: join(folder, `${name}.mlmodelc`),
      units: "cpu-ane",
    });
    const played = async <T>(settings: string, work: () => Promise<T>): Promise<T> => {
      process.env["RLX_COREML_DOUBLE"] = settings;
      try {
        return await work();
      } finally {
        delete process.env["RLX_COREML_DOUBLE"];
      }
    };
    const key = { model: "hash", os: "15.5", chip: "Apple M3 Pro", units: "cpu-ane", function: "" } as const;

    it("tells the stages and the times", async () => {
      const stages: string[] = [];
      const times = await played("compile-ms=300 load-ms=20", () =>
        runTrial({ ...request("good"), onProgress: ({ stage }) => stages.push(stage) }),
      );
      expect([...new Set(stages)]).toEqual(["compile", "load", "first prediction", "warm-up"]);
      expect(times.compileSeconds).toBeGreaterThan(0.29);
      expect(times).toMatchObject({ cached: false });
      expect(existsSync(join(folder, "good.mlmodelc"))).toBe(true);
    });

    it.each([
      ["predict=kill", "killed by signal 9 during first prediction"],
      ["predict=abort", "killed by signal 6 during first prediction"],
      ["load=kill", "killed by signal 9 during the load"],
      ["compile=kill", "killed by signal 9 during the compile"],
    ])("survives %s and says what happened", async (settings, sentence) => {
      const error: unknown = await played(settings, () => runTrial(request(`dies ${settings}`))).catch(
        (e: unknown) => e,
      );
      expect(error).toMatchObject({ code: "COREML_CRASHED", message: `[coreml] ${sentence}` });
    });

    it("passes an error of the model on", async () => {
      expect(await played("load=fail", () => codeOf(runTrial(request("refused"))))).toBe("COREML_LOAD");
    });

    it("ends a specialisation that hangs when it is cancelled", async () => {
      // Nothing else ends it.
      const signal = AbortSignal.timeout(300);
      expect(await played("load=hang", () => codeOf(runTrial({ ...request("hangs"), signal })))).toBe("CANCELLED");
    });

    it("remembers what died and what passed", async () => {
      const book = new TrialBook(join(folder, "book"));
      expect(await played("predict=kill", () => codeOf(tryOnce(book, key, request("again"))))).toBe("COREML_CRASHED");
      // Not tried again, although it would pass now; another chip or other units are another matter.
      const refused: unknown = await tryOnce(book, key, request("again")).catch((e: unknown) => e);
      expect(refused).toMatchObject({
        code: "COREML_UNSAFE",
        message: expect.stringContaining("killed by signal 9 during first prediction"),
      });
      expect(await codeOf(tryOnce(book, { ...key, units: "cpu" }, request("again")))).toBe("none");
      expect(
        await played("predict=kill", () => codeOf(tryOnce(book, { ...key, units: "cpu" }, request("again")))),
      ).toBe("none");
      const kept = JSON.parse(readFileSync(book.path, "utf8")) as Readonly<Record<string, unknown>>;
      expect(Object.keys(kept)).toHaveLength(2);
    });

    it("marks model, system and chip: what is another in one of them is tried", async () => {
      const book = new TrialBook(join(folder, "marks"));
      await book.record(key, { kind: "unsafe", reason: "killed by signal 9 during first prediction" });
      const tried = (other: Partial<TrialKey>): Promise<string> =>
        codeOf(tryOnce(book, { ...key, ...other }, request("marked")));
      expect(await tried({})).toBe("COREML_UNSAFE");
      expect(await tried({ os: "15.6" })).toBe("none");
      expect(await tried({ chip: "Apple M4" })).toBe("none");
      expect(await tried({ model: "another" })).toBe("none");
      expect(await tried({ function: "prefill" })).toBe("none");
      // Only the first is marked, and another process reads the same.
      expect(await codeOf(tryOnce(new TrialBook(join(folder, "marks")), key, request("marked")))).toBe("COREML_UNSAFE");
    });

    it("shows how long a specialisation takes, while it takes", async () => {
      const seen: { readonly stage: string; readonly elapsedSeconds: number }[] = [];
      await played("load-ms=900", () =>
        runTrial({ ...request("slow"), onProgress: (progress) => void seen.push(progress) }),
      );
      const loading = seen.filter(({ stage }) => stage === "load").map(({ elapsedSeconds }) => elapsedSeconds);
      expect(loading.length).toBeGreaterThan(2);
      expect([...loading].sort((a, b) => a - b)).toEqual(loading);
      expect((loading.at(-1) ?? 0) - (loading[0] ?? 0)).toBeGreaterThan(0.4);
    });

    it("survives a kill -9 from outside during a prediction, and leaves no process behind", async () => {
      const children = (): readonly number[] =>
        readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
      const before = new Set(children());
      let killed: number | undefined;
      const error: unknown = await played("predict-ms=30000", () =>
        runTrial({
          ...request("killed"),
          onProgress: ({ stage }) => {
            if (stage !== "first prediction" || killed !== undefined) return;
            killed = children().find((pid) => !before.has(pid));
            if (killed !== undefined) process.kill(killed, "SIGKILL");
          },
        }),
      ).catch((e: unknown) => e);
      expect(killed).toBeDefined();
      expect(error).toMatchObject({
        code: "COREML_CRASHED",
        message: "[coreml] killed by signal 9 during first prediction",
      });
      expect(() => process.kill(killed ?? 0, 0)).toThrow("ESRCH");
    });

    it("ends the process of a trial that is cancelled", async () => {
      const children = (): readonly string[] =>
        readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").split(" ").filter(Boolean);
      const before = children();
      const stop = new AbortController();
      const code = await played("load=hang", () =>
        codeOf(
          runTrial({
            ...request("stopped"),
            signal: stop.signal,
            onProgress: ({ stage }) => {
              if (stage === "load") stop.abort();
            },
          }),
        ),
      );
      expect(code).toBe("CANCELLED");
      expect(children()).toEqual(before);
    });
  });
});
