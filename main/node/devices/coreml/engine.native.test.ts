// The device `coreml` behind the contract, over the double: generation, the hybrid graph, the plan beside the prediction, and the
// sentence where there is no Core ML. Checked against the CPU engine and the simulator.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { StreamItemOf } from "../../../contract/contract.ts";
import type { EngineClient } from "../../../contract/contract.ts";
import type { ProfileView } from "../../../contract/views/run.ts";
import { doubleControls, noDouble } from "../../../testing/coremlDouble.ts";
import type { DoubleEngine } from "../../../testing/coremlEngine.ts";
import { engineOver, engineOverDouble, madeHome, openOffer } from "../../../testing/coremlEngine.ts";

const TARGET = { chip: "m3", os: "macos15", units: "all", profile: "exact", context: 64 } as const;

describe.skipIf(noDouble)(`device coreml ${noDouble ?? ""}`, () => {
  let double: DoubleEngine;
  let client: EngineClient;
  beforeAll(() => {
    double = engineOverDouble(madeHome("coreml-engine"));
    ({ client } = double);
  });
  afterAll(() => double.close());
  const opened = (id: string): Promise<string> => openOffer(client, id);

  it("is in the list of devices, as what it is", async () => {
    const { devices } = await client.call("engine.info", {});
    expect(devices.find((device) => device.id === "coreml")).toMatchObject({
      available: true,
      sentence: expect.stringContaining("simulated"),
    });
  });

  it("predicts for this machine until another is chosen", async () => {
    const { here, initial } = await client.call("targets.list", {});
    expect(here).toMatchObject({ chip: "m3", os: "macos15", units: "all" });
    expect(initial).toEqual(here);
  });

  it("writes a text, telling compile, load and first run", { timeout: 120_000 }, async () => {
    const model = await opened("sample");
    const write = async (device: "cpu" | "coreml"): Promise<{ items: StreamItemOf<"run.start">[]; ids: number[] }> => {
      const items: StreamItemOf<"run.start">[] = [];
      const prompt = { kind: "completion", text: "Once upon a time" } as const;
      const input = { model, device, prompt, maxTokens: 8, context: 64, sampling: { temperature: 0, seed: 1 } };
      for await (const item of client.stream("run.start", input)) items.push(item);
      return { items, ids: items.flatMap((item) => (item.kind === "token" ? [item.token.id] : [])) };
    };
    const cpu = await write("cpu");
    const coreml = await write("coreml");
    expect(coreml.ids).toHaveLength(8);
    expect(coreml.ids).toEqual(cpu.ids);
    expect(coreml.items.find((item) => item.kind === "start")).toMatchObject({ device: "coreml", truth: "simulated" });
    const phases = coreml.items.flatMap((item) => (item.kind === "phase" ? [item.name] : []));
    expect(phases).toEqual(expect.arrayContaining(["compile", "load", "first prediction"]));
  });

  it("measures whole steps", { timeout: 60_000 }, async () => {
    const model = await opened("sample");
    const input = {
      model,
      device: "coreml",
      promptTokens: 4,
      generateTokens: 2,
      repeats: 1,
      warmup: 0,
      conditions: "warn",
    } as const;
    const items: StreamItemOf<"bench.run">[] = [];
    for await (const item of client.stream("bench.run", input)) items.push(item);
    const last = items.at(-1);
    expect(last).toMatchObject({ kind: "done", device: "coreml", truth: "simulated", kernels: "Core ML" });
    expect(last?.kind === "done" && last.json).toContain('"backends": "Core ML (simulated)"');
  });

  const profiled = async (): Promise<ProfileView> => {
    const model = await opened("sample");
    const input = { model, device: "coreml", promptTokens: 20, generateTokens: 3 } as const;
    const items: StreamItemOf<"profile.run">[] = [];
    for await (const item of client.stream("profile.run", input)) items.push(item);
    const last = items.at(-1);
    if (last?.kind !== "done") throw new Error("no profile");
    return last.profile;
  };

  it("shares the time of each prediction out by the plan's costs, and says so", { timeout: 120_000 }, async () => {
    const profile = await profiled();
    // Over the double nothing is measured; on a Mac it would say attributed. Never measured.
    expect(profile.truth).toBe("simulated");
    expect(profile.sentence).toContain("shared out by the cost weights of Core ML's plan, not measured");
    expect(profile.sentence).toMatch(/compile .*, load .*, first prediction .*\. Load now: /);
    expect(profile.peakBandwidth).toBeNull();
    const { steps, slices, lanes, strings } = profile;
    expect([...steps.decode]).toEqual([0, 1, 1, 1]);
    expect(lanes.map(({ device }) => device)).toEqual(expect.arrayContaining(["ane", "host"]));
    // Slices of a step never take longer than the step: the rest is JavaScript.
    const sums = [...steps.seconds].map(() => 0);
    slices.seconds.forEach((seconds, i) => (sums[slices.step[i] ?? 0] = (sums[slices.step[i] ?? 0] ?? 0) + seconds));
    sums.forEach((sum, step) => {
      expect(sum).toBeLessThanOrEqual((steps.seconds[step] ?? 0) + 1e-3);
      expect(sum).toBeGreaterThan(0);
    });
    // The double gives every operator the same cost: within a prediction all slices but the copies are equally long.
    const own = [...slices.seconds].filter((_, i) => slices.step[i] === 1 && strings[slices.op[i] ?? 0] !== "copies");
    expect(own.length).toBeGreaterThan(20);
    expect(Math.max(...own)).toBeCloseTo(Math.min(...own), 7);
    // Every operator of the plan is joined to operations of the model.
    const joined = [...slices.op].filter((_, i) => (slices.nodeStart[i + 1] ?? 0) > (slices.nodeStart[i] ?? 0)).length;
    expect(joined).toBeGreaterThan(0.9 * slices.op.length);
    expect(profile.decode.rows.find(({ op }) => op === "linear")).toMatchObject({ bytes: 0, bandwidth: null });
    expect(profile.decode.rows.reduce((sum, row) => sum + row.share, 0)).toBeCloseTo(1, 6);
  });

  it("profiles whole predictions where the system gives no plan", { timeout: 120_000 }, async () => {
    const controls = doubleControls();
    try {
      controls?.configure("plan=fail");
      const profile = await profiled();
      expect(profile.sentence).toContain("Whole predictions only: the system gives no costs of operations");
      expect(profile.sentence).toContain("Failed to build the compute plan");
      expect(profile.lanes.map(({ device }) => device).sort()).toEqual(["host", "none"]);
      expect(new Set([...profile.slices.label].map((label) => profile.strings[label]))).toEqual(
        new Set(["prefill", "prefill: in and out", "decode", "decode: in and out"]),
      );
    } finally {
      controls?.configure("");
    }
  });

  it("runs the hybrid graph as the simulator does", { timeout: 60_000 }, async () => {
    const model = await opened("demo-hybrid");
    const run = (device: "coreml" | "coreml-sim") =>
      client.call("hybrid.run", { model, device, target: TARGET, seed: 3 });
    const [coreml, simulated] = [await run("coreml"), await run("coreml-sim")];
    expect(coreml.outputs).toEqual(simulated.outputs);
    expect(coreml.segments.map((segment) => segment.index)).toEqual(simulated.segments.map((segment) => segment.index));
  });

  it("lays the plan beside the prediction and names the first difference", { timeout: 60_000 }, async () => {
    for (const id of ["sample", "demo-hybrid"]) {
      const model = await opened(id);
      const view = await client.call("route.planned", { model, target: TARGET, phase: "decode" });
      expect(view.truth).toBe("simulated");
      expect(view.refusal).toBeNull();
      expect(view.joined).toBe(view.ops);
      expect(view.ops).toBeGreaterThan(5);
      expect(view.shares.reduce((sum, row) => sum + row.planned, 0)).toBeCloseTo(1, 6);
      const differing = view.firstDifference;
      expect(view.agreeing === view.ops).toBe(differing === null);
      if (differing !== null)
        expect(view.sentence).toContain(`predicted ${differing.predicted}, planned ${differing.planned}`);
    }
  });
});

describe("RLX_COREML_UNITS", () => {
  it.each([
    [undefined, "cpu-ane"],
    ["cpu", "cpu"],
    ["gpu", "cpu-gpu"],
    ["all", "all"],
  ])("%s asks for %s", async (value, units) => {
    const { client, close } = engineOver(
      madeHome("coreml-units"),
      value === undefined ? {} : { RLX_COREML_UNITS: value },
    );
    expect((await client.call("targets.list", {})).initial.units).toBe(units);
    await close();
  });
});

describe.skipIf(process.platform === "darwin")("without Core ML (not where this is a Mac)", () => {
  it("says so in one sentence, and starts nothing", async () => {
    const home = madeHome("no-coreml");
    const { client, close } = engineOver(home);
    const { devices } = await client.call("engine.info", {});
    expect(devices.find((device) => device.id === "coreml")).toMatchObject({
      available: false,
      sentence: "Core ML exists on Macs only; the simulator runs the same package here.",
    });
    const model = await openOffer(client, "demo-hybrid");
    await expect(client.call("route.planned", { model, target: TARGET, phase: "decode" })).rejects.toMatchObject({
      code: "ENV_NO_DEVICE",
    });
    expect(existsSync(join(home, "coreml"))).toBe(false);
    await close();
  });
});
