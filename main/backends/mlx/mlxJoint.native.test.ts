// Joint steps of MLX, in its three modes.
import { afterAll, describe, expect, test } from "vitest";
import { compileNow } from "../../compiler/compile.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";
import type { GraphRun, RunResult, TokenRun } from "../../ir/session.ts";
import type { TensorType } from "../../ir/type.ts";
import { tensor } from "../../ir/type.ts";
import { findMlxEngine } from "../../node/native/mlxAddon.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import { mlxDevice, openMlxDecoder } from "../../runtime/devices/mlx.ts";
import { GREEDY_DRAW } from "../../runtime/generate.ts";
import { testJointSteps } from "../../testing/jointSessions.ts";
import { seededRandom } from "../../testing/random.ts";
import { reasonNotFound } from "../../testing/skipping.ts";
import { TINY_OPTIONS, tinyModel, tinyParam } from "../../testing/tinyModels.ts";
import { weightFile } from "../../testing/weightFile.ts";
import type { MlxEngine, MlxMode } from "./engine.ts";
import { MLX_MODES } from "./engine.ts";

const found = findMlxEngine();
const missing = reasonNotFound(found);
const mlx = found as MlxEngine;

// Hooks run in the other order: after the models are gone.
afterAll(() => {
  if (missing === undefined) expect(mlx.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
});

for (const mode of MLX_MODES)
  testJointSteps(
    `on MLX, ${mode} ${missing ?? ""}`,
    (file, path) =>
      openMlxDecoder(mlx, file, [path], {
        mode,
        cacheType: "f32",
        chunk: 8,
        prepare: (graph) => compileNow(graph, { backend: "mlx", verify: true }).graph,
      }),
    missing !== undefined,
  );

const LONG = 16_384;
const options = { ...TINY_OPTIONS, capacity: "capacity" as const, largestCapacity: LONG };
const legal = compileNow(tinyModel("qwen3", 2, options), { backend: "mlx" }).graph;
const weights = weightFile(legal, (name, type) => tensorBytes(tinyParam(name, type)));
afterAll(() => weights.remove());

const draw = (past: number, count: number): TokenRun => ({
  inputs: { tokens: Int32Array.of(3), past: Int32Array.of(past), logit_rows: Int32Array.of(0) },
  logits: "logits",
  sample: GREEDY_DRAW,
  series: { count, token: "tokens", position: "past", endings: new Int32Array(0) },
});

/** Of as many rows of 1024 as the session has capacity. */
function wideGraph(): Graph {
  const builder = new GraphBuilder(opTable, "wide");
  const g = typedBuilder(builder);
  const x = builder.input("x", tensor("f32", [1, 1024]));
  builder.limitSymbol("capacity", 1 << 24);
  builder.output("y", g.exp([g.expand([x], { shape: ["capacity", 1024] })]));
  return builder.finish();
}

/** Rows behind a product, with operands and shapes that go along with rows, and others that do not. */
function rowGraph(): Graph {
  const builder = new GraphBuilder(opTable, "rows");
  const g = typedBuilder(builder);
  const from = (name: string, type: TensorType): Value => builder.param(name, type, { file: "f", tensor: name });
  const x = builder.input("x", tensor("f32", [1, 8]));
  const line = builder.input("line", tensor("f32", [8]));
  const three = builder.input("three", tensor("f32", [3, 8]));
  const y = g.linear([x, from("w", tensor("f32", [8, 8]))]);
  const normed = g.rms_norm([y, from("scale", tensor("f32", [8]))], { eps: 1e-5 });
  const shifted = g.add([g.mul([normed, x]), from("one", tensor("f32", [1, 8]))]);
  const heads = g.softmax([g.reshape([g.tanh([shifted])], { shape: [1, 2, 4] })], { axis: 2 });
  builder.output("rows", g.mul([heads, g.exp([heads])]));
  builder.output("line", g.add([shifted, line]));
  builder.output("spread", g.sub([shifted, three]));
  builder.output("table", g.add([shifted, from("several", tensor("f32", [3, 8]))]));
  builder.output("other", g.relu([g.reshape([y], { shape: [4, 2] })]));
  return builder.finish();
}

describe.skipIf(missing !== undefined)(`what MLX joins ${missing ?? ""}`, () => {
  test.each(MLX_MODES)("%s: each product with a weight, and each once", async (mode) => {
    const compiled = mlxDevice(mlx, { mode, weights }).compile(legal);
    const products = compiled.steps.filter(({ kernel }) => kernel === "linear").length;
    const sessions = [0, 1, 2].map(() => compiled.open({ symbols: { capacity: 1024 } }));
    await sessions[0]!.tokens.run(draw(0, 1));
    expect(compiled.facts().joinedProducts).toBe(0);
    // Runs at once, of which none ends before the others have begun.
    const results = await Promise.all(sessions.map((session) => session.tokens.run(draw(0, 120))));
    expect(results.map(({ together }) => together)).toEqual([3, 3, 3]);
    const { joinedProducts, traces } = compiled.facts();
    expect(products).toBeGreaterThan(10);
    expect(joinedProducts % products).toBe(0);
    // A trace is walked once for each number of sessions; the other modes walk in each step.
    if (mode === "compiled") expect(traces - 1).toBe(joinedProducts / products);
    else expect(joinedProducts / products).toBeGreaterThan(100);
    for (const session of sessions) session.dispose();
    compiled.dispose();
  });

  test.each(MLX_MODES)("%s: sessions whose caches have other lengths, and grow", async (mode) => {
    const compiled = mlxDevice(mlx, { mode, weights }).compile(legal);
    const pasts = [0, 250, 510];
    const alone: (readonly number[])[] = [];
    for (const past of pasts) {
      const session = compiled.open({ symbols: { capacity: 1024 } });
      const { series = [] } = await session.tokens.run(draw(past, 60));
      alone.push(series.map(({ id }) => id));
      session.dispose();
    }
    const sessions = pasts.map(() => compiled.open({ symbols: { capacity: 1024 } }));
    const results = await Promise.all(sessions.map((session, i) => session.tokens.run(draw(pasts[i]!, 60))));
    expect(results.map(({ series = [] }) => series.map(({ id }) => id))).toEqual(alone);
    expect(Math.max(...results.map(({ together = 0 }) => together))).toBe(3);
    for (const session of sessions) session.dispose();
    compiled.dispose();
  });

  test.each(["lazy", "compiled"] as const)("%s: steps write into the caches that they were given", async (mode) => {
    const compiled = mlxDevice(mlx, { mode, weights }).compile(legal);
    const sessions = [0, 1].map(() => compiled.open({ symbols: { capacity: LONG } }));
    const together = async (past: number, count: number): Promise<number> => {
      const results = await Promise.all(sessions.map((session) => session.tokens.run(draw(past, count))));
      return Math.min(...results.map((result) => result.together ?? 0));
    };
    // The caches take their full length, and what joint steps need is there.
    await together(16_000, 40);
    const caches = sessions[0]!.bytes(0).states;
    expect(caches).toBeGreaterThan(1 << 20);
    const { active } = mlx.memory();
    mlx.setMemory({ resetPeak: true });
    expect(await together(16_040, 40)).toBe(2);
    // A copy of one of the eight caches would be a quarter of a session's.
    const extra = mlx.memory().peak - active;
    expect(extra).toBeGreaterThan(0);
    expect(extra).toBeLessThan(caches / 4);
    for (const session of sessions) session.dispose();
    compiled.dispose();
  });

  test.each(MLX_MODES)("%s: a session whose own call is refused leaves the others alone", async (mode: MlxMode) => {
    const compiled = mlxDevice(mlx, { mode }).compile(wideGraph());
    const tooLarge = 1 << 23;
    // Neither in the order of their sizes nor against it: a trace holds them in that order.
    const capacities = [16, 4, tooLarge, 12, 8];
    const sessions = capacities.map((capacity) => compiled.open({ symbols: { capacity } }));
    const request: GraphRun = { inputs: { x: new Float32Array(1024).fill(1) }, fetch: ["y"] };
    const { limit } = mlx.memory();
    mlx.setMemory({ limit: 1 << 30 });
    try {
      let together = 0;
      for (let time = 0; time < 30; time++) {
        const results = await Promise.allSettled(sessions.map((session) => session.tokens.run(request)));
        for (const [i, result] of results.entries()) {
          if (capacities[i] === tooLarge) {
            expect(result).toMatchObject({ status: "rejected", reason: { code: "ENV_NO_MEMORY" } });
            continue;
          }
          if (result.status === "rejected") throw result.reason;
          expect(result.value.outputs["y"]?.shape).toEqual([capacities[i], 1024]);
          const y = new Float32Array(result.value.outputs["y"]!.bytes.buffer);
          expect(y.every((value) => Math.abs(value - Math.E) < 1e-5)).toBe(true);
          together = Math.max(together, result.value.together ?? 0);
        }
      }
      // What is refused stood beside others.
      expect(together).toBeGreaterThan(2);
    } finally {
      mlx.setMemory({ limit });
      for (const session of sessions) session.dispose();
      compiled.dispose();
    }
  });

  test.each(MLX_MODES)("%s: rows stay each session's own, whatever they meet", async (mode) => {
    const graph = compileNow(rowGraph(), { backend: "mlx", passes: [] }).graph;
    const file = weightFile(graph, (name, type) => tensorBytes(tinyParam(name, type)));
    const compiled = mlxDevice(mlx, { mode, weights: file }).compile(graph);
    const fetch = graph.outputs.map(({ name }) => name);
    const random = seededRandom(11);
    const floats = (count: number): Float32Array => Float32Array.from({ length: count }, () => random.normal());
    const requests = Array.from({ length: 4 }, (): GraphRun => {
      return { inputs: { x: floats(8), line: floats(8), three: floats(24) }, fetch };
    });
    const sessions = requests.map(() => compiled.open());
    const numbers = ({ outputs }: RunResult): number[] =>
      fetch.flatMap((name) => [...new Float32Array(outputs[name]!.bytes.buffer)]);
    const alone: number[][] = [];
    for (const [i, session] of sessions.entries()) alone.push(numbers(await session.run(requests[i]!)));
    let together = 0;
    for (let time = 0; time < 30; time++) {
      const results = await Promise.all(sessions.map((session, i) => session.tokens.run(requests[i]!)));
      for (const [i, result] of results.entries()) {
        together = Math.max(together, result.together ?? 0);
        numbers(result).forEach((value, at) => expect(value).toBeCloseTo(alone[i]![at]!, 5));
      }
    }
    expect(together).toBeGreaterThan(2);
    expect(compiled.facts().joinedProducts).toBeGreaterThan(0);
    for (const session of sessions) session.dispose();
    compiled.dispose();
    file.remove();
  });
});
