/** The cases on the CPU engine and on MLX, and every optimiser fused on them against its meaning in float64. */
import { describe, expect, it } from "vitest";
import { loadAddon } from "../node/native/addon.ts";
import { findMlxEngine } from "../node/native/mlxAddon.ts";
import { cpuDevice } from "../runtime/devices/cpu.ts";
import { mlxDevice } from "../runtime/devices/mlx.ts";
import { apartFromMeaning, titledRuns } from "../testing/optimiserRuns.ts";
import { PROBLEMS } from "../testing/trainingProblems.ts";
import { linearSession, losses } from "../testing/trainingCases.ts";
import { trainingCases } from "../testing/trainingSuite.ts";
import { withAverage } from "./average.ts";
import { optimizerNamed } from "./optimisers/index.ts";
import { adamw } from "./optimisers/adam.ts";
import { sgd } from "./optimisers/sgd.ts";
import { linear } from "./schedules.ts";
import { TrainingSession } from "./session.ts";
import type { TrainingDevice } from "./trainingDevice.ts";
import { trainingOn } from "./trainingDevice.ts";

const engine = loadAddon();
const cpu = trainingOn(cpuDevice(engine, { threads: 2 }), "cpu");
const mlxEngine = findMlxEngine();
const mlxMissing = typeof mlxEngine === "string" ? mlxEngine : undefined;
const mlx = (): TrainingDevice => {
  if (typeof mlxEngine === "string") throw new Error(mlxEngine);
  return trainingOn(mlxDevice(mlxEngine, { mode: "lazy" }), "mlx");
};

describe("cpu", () => {
  trainingCases({ open: () => Promise.resolve({ device: cpu, cpu }) });
});
describe.skipIf(mlxMissing)(`mlx ${mlxMissing ?? ""}`, () => {
  trainingCases({ open: () => Promise.resolve({ device: mlx(), cpu }) });
});

describe("fused on the cpu", () => {
  /** The device, with what it was asked to do. */
  function watched(): { readonly device: TrainingDevice; readonly opened: string[][]; readonly sent: Set<string> } {
    const [opened, sent] = [[] as string[][], new Set<string>()];
    const device: TrainingDevice = {
      ...cpu,
      async open(graph, precision) {
        opened.push(graph.states.map(({ name }) => name));
        const runner = await cpu.open(graph, precision);
        const run: typeof runner.run = (inputs, ...rest) => {
          for (const name of Object.keys(inputs)) sent.add(name);
          return runner.run(inputs, ...rest);
        };
        return { ...runner, run };
      },
    };
    return { device, opened, sent };
  }

  it("compiles once, and sends the batch and numbers of the step only", async () => {
    const { device, opened, sent } = watched();
    const session = linearSession(device, adamw(), 0.1, 0).withFusedOptimizer();
    await losses(session, 9);
    await session.param("W");
    await losses(session, 9);
    expect(opened).toEqual([["W", "training_first.W", "training_second.W"]]);
    const numbers = ["learningRate", "ofFirst", "ofSecond"].map((name) => `training_0_${name}`);
    expect([...sent].toSorted()).toEqual(["target", ...numbers, "x"].toSorted());
    await session.dispose();
  });

  it("groups, clipping, a scaled loss and an average are the host's", async () => {
    const net = PROBLEMS[2]!;
    const initial = Object.fromEntries(Object.entries(net.initial).map(([key, { data }]) => [key, data]));
    const data = Object.fromEntries(Object.entries(net.data).map(([key, array]) => [key, array.data]));
    const infinite = { ...data, y: data["y"]!.map(() => Infinity) };
    const made = await Promise.all(
      [false, true].map(async (isFused) => {
        const session = new TrainingSession(net.graph("f32", "params"), Object.keys(initial), initial, {
          device: cpu,
          lr: linear(0.05, 0.01, 20),
          optimizer: withAverage(adamw(), 0.9),
          groups: [
            { rank: 2, optimizer: sgd({ momentum: 0.5 }), lr: 0.1 },
            { name: /2$/, optimizer: adamw() },
          ],
          clipping: { norm: 0.5, value: 0.4 },
        }).withPrecisionPolicy("f32", { start: 64 });
        if (isFused) session.withFusedOptimizer();
        for (let i = 0; i < 10; i++) await session.step(data);
        expect(await session.step(infinite)).toMatchObject({ applied: false });
        for (let i = 0; i < 10; i++) expect((await session.step(data)).applied).toBe(true);
        expect(session.steps).toBe(20);
        const both = [await session.params(), await session.params(true)];
        await session.dispose();
        return both;
      }),
    );
    const [host, fused] = [made[0]!, made[1]!];
    host.forEach((weights, i) => {
      for (const [name, { data: numbers }] of Object.entries(weights))
        numbers.forEach((value, at) => expect(fused[i]![name]!.data[at], name).toBeCloseTo(value, 5));
    });
    expect(host[1]!["b1"]).not.toEqual(host[0]!["b1"]);
    expect(host[1]!["w1"]).toEqual(host[0]!["w1"]);
  });
});

describe("a snapshot on the cpu", () => {
  const net = PROBLEMS[2]!;
  const initial = Object.fromEntries(Object.entries(net.initial).map(([key, { data }]) => [key, data]));
  const data = Object.fromEntries(Object.entries(net.data).map(([key, array]) => [key, array.data]));
  const open = (name: string, isFused: boolean): TrainingSession => {
    const config = { device: cpu, lr: 0.01, optimizer: optimizerNamed(name) };
    const session = new TrainingSession(net.graph("f32", "params"), Object.keys(initial), initial, config);
    session.withPrecisionPolicy("f32", { growAfter: 3 });
    return isFused ? session.withFusedOptimizer() : session;
  };

  it.each(["adamw", "sophia", "scheduleFreeAdamw"])("of %s goes on with the same bits", async (name) => {
    for (const isFused of [false, true]) {
      const whole = open(name, isFused);
      for (let i = 0; i < 12; i++) await whole.step(data);
      const kept = await whole.snapshot();
      for (let i = 0; i < 12; i++) await whole.step(data);

      const later = open(name, isFused);
      await later.step(data);
      await later.restore(kept);
      for (let i = 0; i < 12; i++) await later.step(data);
      expect(await later.snapshot()).toEqual(await whole.snapshot());
      expect(later.steps).toBe(24);

      const other = open("sgd", isFused);
      await expect(other.restore(kept)).rejects.toThrow("[training] snapshot: got");
      await Promise.all([whole, later, other].map((session) => session.dispose()));
    }
  });
});

describe("every optimiser is what it means", () => {
  it.each(titledRuns)("%s on the cpu, host and fused", async (_, one) => {
    expect(await apartFromMeaning(cpu, one, false), "host").toBeLessThan(1e-4);
    expect(await apartFromMeaning(cpu, one, true), "fused").toBeLessThan(1e-4);
  });
  it.skipIf(mlxMissing).each(titledRuns)("%s fused on mlx", async (_, one) => {
    expect(await apartFromMeaning(mlx(), one, true)).toBeLessThan(1e-4);
  });
});
