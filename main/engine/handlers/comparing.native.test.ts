// Devices compared behind the contract: the state of the machine, the advice and its calibration, the route on MLX against MLX's
// own plan, two devices that answer the same question at the same time, and the conditions of a benchmark.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { StreamItemOf } from "../../contract/contract.ts";
import { mlxStateOf } from "../../contract/views/mlx.ts";
import { findMlxEngine } from "../../node/native/mlxAddon.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import { reasonNotFound } from "../../testing/skipping.ts";

const found = findMlxEngine();
const missing = reasonNotFound(found);

let harness: Harness;
let model: string;
let demo: string;
beforeAll(async () => {
  harness = await engineHarness();
  model = (await harness.client.call("model.open", { source: { kind: "offer", id: "sample" } })).model;
  demo = (await harness.client.call("model.open", { source: { kind: "offer", id: "demo-hybrid" } })).model;
});
afterAll(() => harness.done());

describe("the state of the machine", () => {
  test("names every reading, with its source; what is not told has no value", async () => {
    const { readings } = await harness.client.call("machine.state", {});
    expect(readings.map(({ id }) => id)).toEqual(expect.arrayContaining(["thermal", "power", "memory", "load"]));
    for (const reading of readings) {
      expect(reading.source).not.toBe("");
      expect(reading.value === null, reading.id).toBe(reading.state === "unknown");
    }
    expect(readings.some(({ id }) => id === "mlx-limit")).toBe(missing === undefined);
    const { checks } = await harness.client.call("doctor.run", {});
    for (const { id, title } of readings)
      if (id !== "memory" && !id.startsWith("mlx-")) expect(checks.map((check) => check.title)).toContain(title);
    expect(checks.find(({ id }) => id === "mlx-memory")?.sentence).toMatch(
      missing === undefined ? /^In use .+, most so far .+, limit .+\.$/ : /^MLX is not here\.$/,
    );
  });

  test("stands in the result of a benchmark, before and after", async () => {
    const items = await harness.all("bench.run", {
      model,
      promptTokens: 8,
      generateTokens: 4,
      repeats: 3,
      warmup: 0,
    });
    const last = items.at(-1);
    if (last?.kind !== "done") throw new Error("the benchmark did not end");
    const { before, after } = last.conditions;
    expect(after.at).toBeGreaterThanOrEqual(before.at);
    for (const state of [before, after]) expect(state.readings.map(({ id }) => id)).toContain("memory");
  });
});

describe("the fastest device", () => {
  test(
    "is never a guess: without calibration there is none, with one there is, with its sums",
    { timeout: 180_000 },
    async () => {
      const before = await harness.client.call("devices.advise", { model });
      expect(before).toMatchObject({ best: null, canCalibrate: true });
      expect(before.devices.every(({ seconds }) => seconds === null)).toBe(true);
      const items = await harness.all("devices.calibrate", { model, promptTokens: 200, generateTokens: 50 });
      expect(items[0]).toMatchObject({ kind: "phase" });
      const last = items.at(-1);
      if (last?.kind !== "done") throw new Error("the calibration did not end");
      const { advice } = last;
      expect(advice.canCalibrate).toBe(false);
      const measured = advice.devices.filter(({ seconds }) => seconds !== null);
      expect(measured.map(({ device }) => device).sort()).toEqual(missing === undefined ? ["cpu", "mlx"] : ["cpu"]);
      const [fastest] = measured.sort((a, b) => a.seconds!.value - b.seconds!.value);
      expect(advice.best).toBe(fastest!.device);
      for (const row of measured) {
        expect(row.seconds!.value).toBeCloseTo(row.promptSeconds!.value + row.generateSeconds!.value, 12);
        expect(row.seconds!.truth).toBe("predicted");
        expect(row.arithmetic.map(({ label }) => label)).toEqual([
          "prefill of 200 tokens",
          "one token",
          "decode of 50 tokens",
        ]);
        expect(row.arithmetic[2]!.value).toMatch(/^50 × .+ = .+ m?s$/);
      }
      if (missing === undefined)
        expect(advice.sentence).toMatch(/^Fastest here: (CPU|MLX), because .+ against .+ on (CPU|MLX)/);
      const again = await harness.client.call("devices.advise", { model, promptTokens: 200, generateTokens: 50 });
      expect(again).toEqual(advice);
      // The sums scale as they say.
      const twice = await harness.client.call("devices.advise", { model, promptTokens: 400, generateTokens: 100 });
      expect(twice.devices.find(({ device }) => device === "cpu")!.seconds!.value).toBeCloseTo(
        2 * advice.devices.find(({ device }) => device === "cpu")!.seconds!.value,
        9,
      );
    },
  );
});

describe("the route on MLX", () => {
  test("has a state and a reason for every op that the routing view shows", async () => {
    for (const id of [model, demo]) {
      const view = await harness.client.call("route.mlx", { model: id, phase: "decode", context: 256 });
      const graph = await harness.client.call("graph.get", view.key);
      expect(view.nodes.state).toHaveLength(graph.nodeCount);
      const { native, decomposed, unsupported } = view.counts;
      expect(view.ops.reduce((sum, row) => sum + row.count, 0)).toBe(native + decomposed + unsupported);
      expect(native).toBeGreaterThan(0);
      let told = 0;
      for (let node = 0; node < graph.nodeCount; node++) {
        if (mlxStateOf(view.nodes.state[node]!) === "none") continue;
        told++;
        expect(view.strings[view.nodes.reason[node]!]).toMatch(/.+: .+\./);
        expect(view.strings[view.nodes.reason[node]!]).not.toContain("mlx");
      }
      expect(told).toBeGreaterThan(5);
      for (const row of view.ops) {
        expect(row.reason).toMatch(/^(?!Mlx|mlx)[A-Z].*\.$/);
        expect(row.state === "native" ? row.parts : [row.op]).toEqual([row.op]);
        if (row.state === "decomposed") expect(row.parts.length).toBeGreaterThan(0);
        if (row.node >= 0) expect(mlxStateOf(view.nodes.state[row.node]!)).toBe(row.state);
      }
    }
  });

  test.skipIf(missing !== undefined)(
    `reckons a step from calibration, with its sum, and says why not for a demo graph ${missing ?? ""}`,
    async () => {
      // Known from above: nothing is measured twice.
      const before = await harness.client.call("devices.advise", { model });
      // No two measurements give the same numbers to the last bit.
      const known = (await harness.all("devices.calibrate", { model })).at(-1);
      expect(known).toEqual({ kind: "done", advice: before });
      const decode = await harness.client.call("route.mlx", { model, phase: "decode", context: 256 });
      const prefill = await harness.client.call("route.mlx", { model, phase: "prefill", context: 256 });
      expect(decode).toMatchObject({ available: true, whyNoTime: null, seconds: { truth: "predicted" } });
      expect(decode.arithmetic).toHaveLength(1);
      expect(prefill.arithmetic[0]!.label).toBe("prefill of 64 tokens");
      const hybrid = await harness.client.call("route.mlx", { model: demo, phase: "decode", context: 256 });
      expect(hybrid.seconds).toBeNull();
      expect(hybrid.whyNoTime).toMatch(/^No time/);
      expect(hybrid.weights).toEqual([]);
    },
  );
});

describe.skipIf(missing !== undefined)(`two devices side by side ${missing ?? ""}`, () => {
  const ask = (device: "cpu" | "mlx", signal?: AbortSignal): Promise<StreamItemOf<"run.start">[]> =>
    harness.all(
      "run.start",
      {
        model,
        device,
        prompt: { kind: "chat", messages: [{ role: "user", content: "Tell me a story." }] },
        maxTokens: 48,
        sampling: { temperature: 0.8, seed: 7 },
      },
      signal === undefined ? {} : { signal },
    );
  const ids = (items: readonly StreamItemOf<"run.start">[]): number[] =>
    items.flatMap((item) => (item.kind === "token" ? [item.token.id] : []));

  test(
    "answer at the same time, each saying where, with the same tokens from the same seed",
    { timeout: 60_000 },
    async () => {
      const [cpu, mlx] = await Promise.all([ask("cpu"), ask("mlx")]);
      expect(cpu.find(({ kind }) => kind === "start")).toMatchObject({ device: "cpu", seed: 7, truth: "measured" });
      expect(mlx.find(({ kind }) => kind === "start")).toMatchObject({ device: "mlx", seed: 7, truth: "measured" });
      expect(ids(cpu)).toHaveLength(48);
      expect(ids(mlx)).toEqual(ids(cpu));
      for (const items of [cpu, mlx]) {
        const last = items.at(-1);
        expect(last?.kind === "done" && last.stats.rate!.value).toBeGreaterThan(0);
      }
    },
  );
});
