/** What the Node door adds to the rooms behind it; its examples are run by main/testing/library.slow.test.ts. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { buildGraph, modelGraph } from "../../library/index.ts";
import { engines } from "./addon.ts";
import {
  advise,
  blockScales,
  checkModel,
  compileForCpu,
  devices,
  exportGraph,
  graphSvg,
  openModel,
  openPackage,
  pipelineSteps,
  quantizeModel,
  requireModelFits,
  sampleModel,
  tensorStatistics,
  tensorValues,
} from "./index.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-door-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("graphs on the CPU", () => {
  const program = compileForCpu(
    buildGraph("running sum", (g) => {
      const x = g.input("x", "f32[T]");
      g.limitSymbol("T", 8);
      const total = g.variable("total", "f32[]", { kind: "constant", value: 10 });
      const next = g.add([total, g.reduce([g.mul([x, g.param("by", "f32[]")])], { kind: "sum", axes: [0] })]);
      g.setState("total", next);
      g.output("sum", next);
      g.output("half", g.cast([x], { to: "f16" }));
    }),
  );
  afterAll(() => program.dispose());

  it("keep parameters and states in their session; sizes follow from the inputs", async () => {
    const session = program.open({ threads: 1 });
    await expect(session.run({ x: [1] })).rejects.toThrow(/by has no value/);
    session.setParam("by", [2]);
    expect((await session.run({ x: [1, 2] }))["sum"]!.data[0]).toBe(16);
    const { sum, half } = await session.run({ x: Float32Array.of(0.5) });
    expect([sum!.data[0], half!.dtype, [...half!.data]]).toEqual([17, "f16", [0.5]]);

    const fork = await session.fork();
    fork.setParam("by", [0]);
    expect((await fork.run({ x: [1] }, { fetch: ["sum"] }))["sum"]!.data[0]).toBe(17);
    expect(session.getParam("by")[0]).toBe(2);
    await session.reset();
    expect((await session.run({ x: [1] }))["sum"]!.data[0]).toBe(12);
    session.dispose();
    fork.dispose();
  });
});

describe("models", () => {
  it("run their own graph over their weights as their sessions do", async () => {
    const model = await openModel(sampleModel());
    const ids = await model.encode("Once upon");
    const program = compileForCpu(modelGraph(model.file), { weights: model.weights });
    const graph = program.open({ symbols: { capacity: 16 } });
    const { logits } = await graph.run({ tokens: ids, past: [0], logit_rows: [ids.length - 1] });
    const session = await model.openSession({ context: 16 });
    expect([...logits!.data]).toEqual([...(await session.decoder.logits(ids, [ids.length - 1]))]);
    for (const each of [graph, program, session]) each.dispose();
    await model.close();
  });

  it("map their weights once, whatever the threads, and give them back when a session is refused", async () => {
    const mapped = (): number => engines().cpu.engine().counts().weights;
    const model = await openModel(sampleModel());
    const before = mapped();
    const sessions = [await model.openSession({ threads: 1 })];
    const once = mapped();
    expect(once).toBeGreaterThan(before);
    sessions.push(await model.openSession({ threads: 2 }));
    await expect(model.openSession({ threads: 5000 })).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    sessions.push(await model.openSession({ threads: 1 }));
    expect(mapped()).toBe(once);
    for (const session of sessions) session.dispose();
    await model.close();
    expect(mapped()).toBe(before);
  });

  it("end a caller's opening without ending that of another", async () => {
    const model = await openModel(sampleModel());
    const leaving = new AbortController();
    const first = model.openSession({ context: 8, signal: leaving.signal });
    const second = model.openSession({ context: 8 });
    leaving.abort();
    await expect(first).rejects.toMatchObject({ code: "CANCELLED" });
    (await second).dispose();
    await model.close();
  });

  it.each([-5, 0, 2.5, NaN])("refuse a context of %d", async (context) => {
    const model = await openModel(sampleModel());
    await expect(model.openSession({ context })).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    await model.close();
  });

  it("refuse a second answer at once, and a device that is none", async () => {
    const model = await openModel(sampleModel());
    await expect(model.openSession({ device: "abacus" })).rejects.toMatchObject({ code: "ENV_NO_DEVICE" });
    const session = await model.openSession({ context: 32, device: devices()[0]!.id });
    const first = session.generate("Once", { maxTokens: 2 });
    await first.next();
    await expect(session.generate("Twice").next()).rejects.toMatchObject({ code: "HANDLE_BUSY" });
    await first.return();
    await expect(session.generate("Twice", { maxTokens: 1 }).next()).resolves.toMatchObject({ done: false });
    session.dispose();
    await model.close();
  });
});

describe("smaller files", () => {
  it("are written as planned, lose little, and are sound", async () => {
    const model = await openModel(sampleModel());
    const path = join(folder, "small.gguf");
    const report = await quantizeModel(model, path, { to: "Q4_K_M", threads: 1 });
    expect(report.relativeError).toBeLessThan(0.1);
    await expect(quantizeModel(model, path, { to: "q4_k_m" })).rejects.toMatchObject({ details: { exists: true } });
    await expect(quantizeModel(model, path, { to: "iq1_s", overwrite: true })).rejects.toThrow(/importance matrix/);
    const small = await openModel(path);
    const changed = report.tensors.find(({ relativeError }) => relativeError > 0)!;
    const { difference } = await tensorStatistics(small, changed.name, { against: model });
    expect(difference!.relative).toBeCloseTo(changed.relativeError, 5);
    expect(await checkModel(small, { against: model })).toMatchObject({ verdict: "sound", tensors: 46, findings: [] });
    const [scales] = await blockScales(small, changed.name);
    expect(scales).toMatchObject({ what: "scale", notFinite: 0 });
    expect((await tensorValues(small, changed.name, { row: 1, rows: 2, columns: 3 })).values.length).toBe(6);
    await small.close();
    await model.close();
  });
});

describe("packages", () => {
  it("of a graph have its symbols fixed, and are not replaced unasked", async () => {
    const graph = buildGraph("double", (g) => {
      const x = g.input("x", "f32[T]");
      g.output("y", g.add([x, x]));
    });
    const path = join(folder, "double.mlpackage");
    await exportGraph(graph, path, { symbols: { T: 2 } });
    await expect(exportGraph(graph, path, { symbols: { T: 3 } })).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    await exportGraph(graph, path, { symbols: { T: 3 }, overwrite: true });
    const opened = await openPackage(path);
    expect(opened.functions[0]).toMatchObject({ name: "main", inputs: [{ shape: [3] }] });
    expect([...(await opened.predict({ x: [1, 2, 3] }))["y"]!.data]).toEqual([2, 4, 6]);
    await opened.close();
  });

  it("of a graph with an operation that only a host runs are refused", async () => {
    const graph = buildGraph("mixed", (g) => {
      const x = g.input("x", "f32[4]");
      const [y] = g.custom([x], { name: "soft_threshold", outputs: ["f32[4]"] });
      g.output("y", g.add([y!, x]));
    });
    const path = join(folder, "mixed.mlpackage");
    await expect(exportGraph(graph, path)).rejects.toMatchObject({ code: "UNSUPPORTED_OP" });
    expect(existsSync(path)).toBe(false);
  });
});

describe("what is said of a model", () => {
  it("is the advice, the steps and the picture that the workbench has", async () => {
    const model = await openModel(sampleModel());
    try {
      const asked = { chip: "m4", context: 1024 } as const;
      const advice = await advise(model, { ...asked, units: "cpu", threads: 2 });
      expect(advice.map(({ rule }) => rule)).toContain("units");
      const gains = advice.map(({ secondsBefore, secondsAfter }) => secondsBefore - secondsAfter);
      expect(gains.every((gain) => gain > 0)).toBe(true);
      expect(advice.find(({ rule }) => rule === "units")?.flags).toMatch(/^--units /);
      const steps = await pipelineSteps(model, asked);
      expect(steps.map(({ name }) => name).slice(-4)).toEqual(["legalise", "legal", "segment", "mil"]);
      const onCpu = await pipelineSteps(model, { ...asked, backend: "cpu" });
      expect(onCpu.at(-1)).toMatchObject({ name: "plan", counts: "instructions", hops: null });
      const folded = await graphSvg(model, asked);
      expect(folded).toMatch(/^<svg /);
      expect((await graphSvg(model, { ...asked, expand: true, by: "type" })).length).toBeGreaterThan(3 * folded.length);
      await expect(advise(model, { context: 0 })).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    } finally {
      await model.close();
    }
  });
});

it("tells by how much a program is over what protobuf holds", () => {
  expect(() => requireModelFits(2 ** 31 - 1)).not.toThrow();
  expect(() => requireModelFits(2 ** 31)).toThrow(
    expect.objectContaining({
      code: "UNSUPPORTED_TARGET",
      details: { bytes: 2 ** 31, limit: 2 ** 31 - 1 },
    }) as Error,
  );
});
