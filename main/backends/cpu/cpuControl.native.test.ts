// Branches and loops in the plans of the CPU engine: real jumps, with several threads and memory that is used again, against the
// reference; cancelled, profiled, and from plans that lie.
import { finish } from "../../ir/steps.ts";
import { afterAll, describe, expect, test } from "vitest";
import { compileCpu } from "./compile.ts";
import { compileNow } from "../../compiler/compile.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";
import type { Graph } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostScalar, hostTensor } from "../../ir/hostTensor.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import { tensor } from "../../ir/type.ts";
import { valueAndGrad } from "../../autodiff/transforms.ts";
import { scanOver } from "../../ops/families/turns.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { opOf, opTable, typedBuilder } from "../../ops/index.ts";
import { sampleGraph, sampleRun, sampleTensors } from "../../ops/sampleData.ts";
import { cpuDevice, cpuRules } from "../../runtime/devices/cpu.ts";
import { caches, count, endless, nest } from "../../testing/controlGraphs.ts";
import { expectClose, numbersOf } from "../../testing/nativeTensors.ts";
import { damagedPlan } from "../../testing/mutatePlan.ts";
import { seededRandom } from "../../testing/random.ts";
import { randomCase } from "../../testing/randomGraphs.ts";
import { packedBytes, weightFile } from "../../testing/weightFile.ts";
import { loadAddon } from "../../node/native/addon.ts";

const engine = loadAddon();
const noWeights = (): never => {
  throw new Error("there are none");
};
type Inputs = Readonly<Record<string, HostTensor>>;

async function run(graph: Graph, inputs: Inputs, threads = 2, profile = false) {
  const compiled = cpuDevice(engine, { threads }).compile(graph);
  const session = compiled.open();
  try {
    const given = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, tensorBytes(value)]));
    // Twice: the second run finds the memory as the first has left it.
    await session.run({ inputs: given, fetch: [] });
    const result = await session.run({ inputs: given, fetch: graph.outputs.map(({ name }) => name), profile });
    return { result, steps: compiled.steps };
  } finally {
    session.dispose();
    compiled.dispose();
  }
}

async function compare(graph: Graph, inputs: Inputs, threads = 2, coarsest = 0): Promise<void> {
  const expected = finish(evaluate(graph, { inputs })).outputs;
  const { result } = await run(graph, inputs, threads);
  for (const { name } of graph.outputs) {
    const [want, got] = [expected[name]!, result.outputs[name]!];
    expectClose(hostTensor(got.dtype, got.shape, numbersOf(got.dtype, got.bytes, engine)), want, name, coarsest);
  }
}

/** Fifteen products in a chain, each of sums of 96 in f32: in the order of eight lanes they come to 1.35e-5 of the largest. */
const CHAIN = 3e-5;

const ramp = (rows: number, columns: number): HostTensor =>
  hostTensor(
    "f32",
    [rows, columns],
    Array.from({ length: rows * columns }, (_, i) => Math.fround(Math.sin(i + 1))),
  );

describe("branches and loops", () => {
  test.each([1, 2, 3])("nested in each other, %i threads", async (threads) => {
    const inputs = { x: ramp(70, 96), w: ramp(96, 96) };
    await compare(nest(70, 96), inputs, threads, CHAIN);
    const { graph } = compileNow(nest(70, 96), { backend: "cpu", verify: true });
    await compare(graph, inputs, threads, CHAIN);
  });

  test("the gradient of a scan, in less memory with checkpoints", async () => {
    const [turns, width] = [64, 96];
    const inputs = { x: ramp(turns, width), w: hostTensor("f32", [width], ramp(1, width).data) };
    const row = tensor("f32", [width]);
    const arenas: number[] = [];
    for (const checkpoints of [undefined, 8]) {
      const b = new GraphBuilder(opTable, "recurrence");
      const g = typedBuilder(b);
      const [x, w] = [b.input("x", tensor("f32", [turns, width])), b.input("w", row)];
      const start = g.expand([g.constant(hostScalar("f32", 0.5))], { shape: [width] });
      const more = checkpoints === undefined ? {} : { checkpoints };
      const { carry } = scanOver(g, { carry: [start], fixed: [w], rows: [x], ...more }, (h, turn) => ({
        carry: [h.tanh([h.add([h.mul([turn.carry[0]!, turn.fixed[0]!]), turn.rows[0]!])])],
        rows: [],
      }));
      b.output("y", g.reduce([carry[0]!], { kind: "sum", axes: [0] }));
      const slope = valueAndGrad(b.finish(), { of: "y", wrt: ["w"] });
      for (const threads of [1, 3]) await compare(slope, inputs, threads, CHAIN);
      const { graph } = compileNow(slope, { backend: "cpu" });
      await compare(graph, inputs, 2, CHAIN);
      arenas.push(compileCpu(graph, cpuRules, noWeights).memory.arenaBytes);
    }
    const rows = (count: number): number => count * width * 4;
    expect(arenas[0]! - arenas[1]!).toBeGreaterThan(rows(turns) / 2);
  });

  test("300 random graphs equal the reference, as built and after the passes", async () => {
    let loops = 0;
    for (let seed = 1; seed <= 300; seed++) {
      const { graph, inputs } = randomCase(seed);
      if (!graph.nodes.some((node) => node.regions.length > 0)) continue;
      loops++;
      for (const passes of [[], undefined]) {
        const { graph: each } = compileNow(graph, { backend: "cpu", ...(passes === undefined ? {} : { passes }) });
        const weights = weightFile(each, (name, type) => tensorBytes(inputs.param!(name, type)));
        const compiled = cpuDevice(engine, { threads: 2, weights }).compile(each);
        const session = compiled.open();
        try {
          const expected = finish(evaluate(each, inputs)).outputs;
          const given = Object.fromEntries(
            Object.entries(inputs.inputs).map(([name, value]) => [name, tensorBytes(value)]),
          );
          const result = await session.run({ inputs: given, fetch: Object.keys(expected) });
          for (const [name, want] of Object.entries(expected)) {
            const got = result.outputs[name]!;
            expectClose(hostTensor(got.dtype, got.shape, numbersOf(got.dtype, got.bytes, engine)), want);
          }
        } catch (error) {
          throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
        } finally {
          session.dispose();
          compiled.dispose();
          weights.remove();
        }
      }
    }
    expect(loops).toBeGreaterThan(50);
  });

  test.each([
    ["if", "a packed weight"],
    ["while", "a packed weight that stays"],
    ["scan", "a packed weight that stays"],
  ])("%s: %s is read in place", async (name, title) => {
    const op = opOf(name)!;
    const sample = op.samples.find((one) => one.title === title)!;
    const graph = sampleGraph(op, sample);
    const exact = (type: { readonly shape: readonly (number | string)[] }): HostTensor => {
      const shape = type.shape.map(Number);
      const values = new Float32Array(shape.reduce((n, dim) => n * dim, 1));
      engine.dequantize("q8_0", packedBytes("q8_0", values.length, 3), values);
      return hostTensor("f32", shape, values);
    };
    const weights = weightFile(graph, (_name, type) => {
      const count = type.shape.reduce<number>((n, dim) => n * Number(dim), 1);
      return packedBytes("q8_0", count, 3);
    });
    const compiled = cpuDevice(engine, { threads: 2, weights }).compile(graph);
    const session = compiled.open();
    try {
      const { inputs } = sampleRun(sample, sampleTensors(sample));
      const expected = finish(evaluate(graph, { inputs, param: (_name, type) => exact(type) })).outputs;
      const given = Object.fromEntries(Object.entries(inputs).map(([key, value]) => [key, tensorBytes(value)]));
      const result = await session.run({ inputs: given, fetch: Object.keys(expected) });
      for (const [key, want] of Object.entries(expected)) {
        const got = result.outputs[key]!;
        // Products with Q8_0 weights round the rows to 15 bits.
        numbersOf(got.dtype, got.bytes, engine).forEach((x, k) =>
          expect(Math.abs(x - want.data[k]!)).toBeLessThan(2e-3),
        );
      }
    } finally {
      session.dispose();
      compiled.dispose();
      weights.remove();
    }
  });

  test("a profile counts every turn, and what did not run took no time", async () => {
    const { result, steps } = await run(nest(70, 96), { x: ramp(70, 96), w: ramp(96, 96) }, 2, true);
    const { seconds, traffic, busy } = result.profile!;
    const at = (kernel: string): number => steps.findIndex((step) => step.kernel === kernel);
    // 5 · 3 products of 70 rows: weights, rows in and out.
    const product = steps.findIndex(({ kernel }) => kernel === "linear" || kernel === "linear_block");
    expect(traffic[product]).toBe(15 * 4 * (96 * 96 + 2 * 70 * 96));
    expect(traffic[at("softmax")]).toBe(3 * 4 * 2 * 70 * 96);
    expect(seconds[product]!).toBeGreaterThan(0);
    expect(seconds.reduce((sum, x) => sum + x, 0)).toBeLessThanOrEqual(result.seconds * 1.01);
    // Of each of the two threads: what it worked, within the time of the instruction.
    expect(busy).toHaveLength(2 * steps.length);
    busy!.forEach((worked, i) => expect(worked).toBeLessThanOrEqual(seconds[i % steps.length]! * 1.01 + 1e-5));
    expect(Math.max(busy![product]!, busy![steps.length + product]!)).toBeGreaterThan(0);
  });

  test("states that a branch or a loop updates", async () => {
    const graph = caches();
    const compiled = cpuDevice(engine, { threads: 2 }).compile(graph);
    const session = compiled.open();
    let states: Inputs = {};
    try {
      for (const [step, flag] of [1, 0, 1, 1].entries()) {
        const inputs = {
          flag: hostScalar("bool", flag),
          fresh: hostTensor("f32", [1, 1, 4], [step + 1, -step, 0.5, 2]),
          past: count(step + 1),
        };
        const expected = finish(evaluate(graph, { inputs, states }));
        const given = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, tensorBytes(value)]));
        const { outputs } = await session.run({ inputs: given, fetch: ["before", "sum"] });
        for (const name of ["before", "sum"]) {
          const got = outputs[name]!;
          expectClose(
            hostTensor(got.dtype, got.shape, numbersOf(got.dtype, got.bytes, engine)),
            expected.outputs[name]!,
          );
        }
        ({ states } = expected);
      }
    } finally {
      session.dispose();
      compiled.dispose();
    }
  });

  test("a loop without an end is cancelled", async () => {
    const compiled = cpuDevice(engine, { threads: 2 }).compile(endless());
    const session = compiled.open();
    const abort = new AbortController();
    const running = session.run({ inputs: { x: Float32Array.of(1, 2, 3, 4) }, fetch: ["y"] }, abort.signal);
    setTimeout(() => abort.abort(), 30);
    // Without the cancel it would never end.
    await expect(running).rejects.toMatchObject({ code: "CANCELLED" });
    session.dispose();
    compiled.dispose();
  });
});

test("a plan with any byte changed is refused or opens, and never ends the process", () => {
  const { bytes } = compileCpu(nest(4, 8), cpuRules, noWeights);
  const random = seededRandom(5);
  let refused = 0;
  for (let round = 0; round < 3000; round++) {
    try {
      const plan = engine.loadPlan(damagedPlan(bytes, random), null);
      try {
        plan.openSession({ threads: 1 }).dispose();
      } finally {
        plan.dispose();
      }
    } catch (error) {
      refused++;
      expect((error as { code?: string }).code).toMatch(/^(IR_|UNSUPPORTED_|INPUT_|ENV_NO_MEMORY)/);
    }
  }
  expect(refused).toBeGreaterThan(500);
});

afterAll(() => {
  expect(engine.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
});
