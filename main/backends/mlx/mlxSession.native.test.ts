// What a session on MLX can do beside the common part: states updated in place, runs that are not waited for, outputs in the caller's
// own arrays, traces, cancels, failing evaluations, memory figures and limits.
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { MlxMode, MlxEngine } from "./engine.ts";
import { MLX_MODES } from "./engine.ts";
import { compile } from "../../compiler/compile.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Shape } from "../../ir/dim.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";
import { tensor } from "../../ir/type.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import type { OpBuilder } from "../../ops/opBuilder.ts";
import type { GraphRun } from "../../ir/session.ts";
import type { MlxCompiled } from "../../runtime/devices/mlx.ts";
import { mlxDevice, openMlxDecoder } from "../../runtime/devices/mlx.ts";
import { prepareDecoder } from "../../runtime/devices/provider.ts";
import { cancelledInTheMiddle } from "../../testing/cancelled.ts";
import { repositoryRoot } from "../../testing/oracleProcess.ts";
import { TINY_OPTIONS, tinyModel, tinyParam } from "../../testing/tinyModels.ts";
import { weightFile } from "../../testing/weightFile.ts";
import { openFileSource } from "../../node/files/fileByteSource.ts";
import { findMlxEngine } from "../../node/native/mlxAddon.ts";
import { readSettings } from "../../node/settings.ts";
import { reasonNotFound } from "../../testing/skipping.ts";

const found = findMlxEngine();
const missing = reasonNotFound(found);
const mlx = found as MlxEngine;
const legal = compile(tinyModel("qwen3", 2, { ...TINY_OPTIONS, capacity: 64 }), { backend: "mlx" }).graph;
const weights = weightFile(legal, (name, type) => tensorBytes(tinyParam(name, type)));
afterAll(() => {
  weights.remove();
  if (missing === undefined) expect(mlx.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
});

const step = (token: number, past: number): GraphRun => ({
  inputs: { tokens: Int32Array.of(token), past: Int32Array.of(past), logit_rows: Int32Array.of(0) },
  fetch: ["logits"],
});
const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

async function withPlan(
  work: (compiled: MlxCompiled) => Promise<void>,
  mode: MlxMode = "compiled",
  graph: Graph = legal,
): Promise<void> {
  const compiled = mlxDevice(mlx, { mode, weights }).compile(graph);
  try {
    await work(compiled);
  } finally {
    compiled.dispose();
  }
}

function graphOf(make: (g: OpBuilder, x: Value) => Value, shape: Shape): Graph {
  const builder = new GraphBuilder(opTable, "test");
  builder.output("y", make(typedBuilder(builder), builder.input("x", tensor("f32", shape))));
  return builder.finish();
}

describe.skipIf(missing !== undefined)(`sessions on MLX ${missing ?? ""}`, () => {
  test("thirty runs handed over at once give what thirty runs one by one give", async () => {
    await withPlan(async (compiled) => {
      const [slow, quick] = [compiled.open(), compiled.open()];
      let wanted: Uint8Array | undefined;
      for (let past = 0; past < 30; past++) wanted = (await slow.run(step(past % 7, past))).outputs["logits"]?.bytes;
      await Promise.all(Array.from({ length: 30 }, (_, past) => quick.commitNoWait(step(past % 7, past))));
      expect((await quick.syncPending()).outputs["logits"]?.bytes).toEqual(wanted);
      expect(await quick.syncPending().then(() => "synced", codeOf)).toBe("INPUT_ARGUMENT");
      // The states are those of all thirty.
      const next = [await slow.run(step(3, 30)), await quick.run(step(3, 30))];
      expect(next[1]?.outputs["logits"]?.bytes).toEqual(next[0]?.outputs["logits"]?.bytes);
      const sample = { temperature: 0, topK: 0, topP: 1, minP: 0, repeatPenalty: 1, seed: 0, step: 0, alternatives: 0 };
      const drawing = { ...step(1, 31), logits: "logits", sample: { ...sample, recent: new Int32Array(0) } };
      expect(await quick.commitNoWait(drawing).then(() => "ran", codeOf)).toBe("INPUT_ARGUMENT");
      const series = { count: 2, token: "tokens", position: "past", endings: new Int32Array(0) };
      expect(await quick.tokens.run({ ...drawing, series }).then(() => "ran", codeOf)).toBe("INPUT_ARGUMENT");
      slow.dispose();
      quick.dispose();
    });
  });

  test("outputs come in arrays of the caller", async () => {
    await withPlan(async (compiled) => {
      const [plain, slotted] = [compiled.open(), compiled.open()];
      const slots = { logits: new Uint8Array(48 * 4) };
      for (let past = 0; past < 5; past++) {
        const { outputs } = await plain.run(step(past, past));
        await slotted.runSlots(step(past, past), slots);
        expect(slots.logits).toEqual(outputs["logits"]?.bytes);
      }
      const wrong = { logits: new Uint8Array(8) };
      expect(await slotted.runSlots(step(5, 5), wrong).then(() => "ran", codeOf)).toBe("INPUT_ARGUMENT");
      expect(await slotted.runSlots(step(6, 6), { nothing: wrong.logits }).then(() => "ran", codeOf)).toBe(
        "INPUT_ARGUMENT",
      );
      plain.dispose();
      slotted.dispose();
    });
  });

  test("memory is counted, and its limits can be set", async () => {
    const before = mlx.memory();
    await withPlan(async (compiled) => {
      expect(compiled.facts().weightBytes).toBe(0);
      const session = compiled.open();
      await session.run(step(0, 0));
      expect(compiled.facts().weightBytes).toBe(compiled.weightBytes);
      expect(mlx.memory().active).toBeGreaterThanOrEqual(compiled.facts().weightBytes);
      expect(session.bytes(4).used).toBe((session.bytes(64).used * 4) / 64);
      mlx.setMemory({ cacheLimit: 0, limit: 8 << 30 });
      expect(mlx.memory().limit).toBe(8 << 30);
      await session.run(step(1, 1));
      expect(mlx.memory().cache).toBe(0);
      mlx.setMemory({ cacheLimit: before.limit, limit: before.limit, resetPeak: true });
      session.dispose();
    });
  });

  test.each(["lazy", "compiled"] as const)("%s: a step writes into the caches that it was given", async (mode) => {
    const options = { ...TINY_OPTIONS, capacity: "capacity" as const, largestCapacity: 16_384 };
    const long = compile(tinyModel("qwen3", 2, options), { backend: "mlx" }).graph;
    await withPlan(
      async (compiled) => {
        const session = compiled.open({ symbols: { capacity: 16_384 } });
        // The caches take their full length, and the second run has all that a step needs.
        await session.run(step(1, 16_000));
        await session.run(step(1, 16_001));
        const caches = session.bytes(0).states;
        expect(caches).toBeGreaterThan(1 << 20);
        const { active } = mlx.memory();
        mlx.setMemory({ resetPeak: true });
        await session.run(step(2, 16_002));
        // A copy of one of the four caches would be a quarter of them; masks and scores of 16 384 positions are far less.
        const extra = mlx.memory().peak - active;
        expect(extra).toBeGreaterThan(0);
        expect(extra).toBeLessThan(caches / 4);
        session.dispose();
      },
      mode,
      long,
    );
  });

  test("slots keep the memory that they have", async () => {
    await withPlan(async (compiled) => {
      const session = compiled.open();
      const slots = { logits: new Uint8Array(48 * 4) };
      const { reserved: before } = session.bytes(0);
      await session.runSlots(step(0, 0), slots);
      const { reserved, states } = session.bytes(0);
      expect(reserved - states).toBeGreaterThanOrEqual(slots.logits.length);
      expect(before).toBeLessThan(reserved);
      for (let past = 1; past < 40; past++) {
        await session.runSlots(step(past % 5, past), slots);
        expect(session.bytes(0).reserved).toBe(reserved);
      }
      session.dispose();
    });
  });

  test("one trace for each set of sizes, however often it runs, and none outside of the compiled mode", async () => {
    const doubled = graphOf((g, x) => g.add([x, g.exp([x])]), ["T"]);
    for (const [mode, traces] of [
      ["compiled", 3],
      ["lazy", 0],
      ["eager", 0],
    ] as const)
      await withPlan(
        async (compiled) => {
          const [one, two] = [compiled.open(), compiled.open()];
          for (const length of [1, 3, 1, 4, 3, 1, 4])
            for (const session of [one, two])
              await session.run({ inputs: { x: new Float32Array(length) }, fetch: ["y"] });
          expect(compiled.facts().traces).toBe(traces);
          one.dispose();
          two.dispose();
        },
        mode,
        doubled,
      );
  });

  test("what takes more than MLX may use is refused by name before it ends the process", async () => {
    const huge = graphOf((g, x) => g.exp([g.expand([x], { shape: [1 << 30, 1 << 30, 1 << 30] })]), [1, 1, 1]);
    const wide = graphOf((g, x) => g.exp([g.expand([x], { shape: [1024, 1024] })]), [1, 1]);
    const { limit } = mlx.memory();
    const refusal = (graph: Graph, mode: MlxMode): Promise<unknown> => {
      let error: unknown;
      return withPlan(
        async (compiled) => {
          const session = compiled.open();
          const run = session.run({ inputs: { x: Float32Array.of(1) }, fetch: ["y"] });
          error = await run.then(
            () => "ran",
            (found: unknown) => found,
          );
          session.dispose();
        },
        mode,
        graph,
      ).then(() => error);
    };
    for (const mode of MLX_MODES) {
      const named = {
        code: "ENV_NO_MEMORY",
        message: expect.stringMatching(/call 0, broadcast of \[1,1(,1)?\]: a result/),
      };
      expect(await refusal(huge, mode)).toMatchObject(named);
      expect(await refusal(wide, mode)).toBe("ran");
      mlx.setMemory({ limit: 1 << 20 });
      try {
        expect(await refusal(wide, mode)).toMatchObject(named);
      } finally {
        mlx.setMemory({ limit });
      }
    }
    // Caches and weights likewise.
    const options = { ...TINY_OPTIONS, capacity: "capacity" as const, largestCapacity: 1 << 20 };
    const long = compile(tinyModel("qwen3", 2, options), { backend: "mlx" }).graph;
    await withPlan(
      async (compiled) => {
        const session = compiled.open({ symbols: { capacity: 1 << 20 } });
        mlx.setMemory({ limit: 1 << 12 });
        expect(await session.run(step(1, 0)).then(() => "ran", codeOf)).toBe("ENV_NO_MEMORY");
        mlx.setMemory({ limit: 1 << 20 });
        expect(await session.run(step(1, 1_000_000)).then(() => "ran", codeOf)).toBe("ENV_NO_MEMORY");
        mlx.setMemory({ limit });
        await session.run(step(1, 0));
        session.dispose();
      },
      "lazy",
      long,
    );
  });

  test("a cancel counts between evaluations, and the states are those from before", async () => {
    const slow = graphOf(
      (g, x) => {
        let y = x;
        for (let i = 0; i < 60; i++) y = g.matmul([y, y]);
        return y;
      },
      [256, 256],
    );
    await withPlan(
      async (compiled) => {
        const session = compiled.open();
        const inputs = { x: new Float32Array(256 * 256) };
        const { seconds } = await session.run({ inputs });
        const { all, of } = await cancelledInTheMiddle((signal) => session.run({ inputs }, signal), 100 * seconds);
        expect(of).toBe("instructions");
        expect(all).toBeGreaterThanOrEqual(60);
        session.dispose();
      },
      "eager",
      slow,
    );
    await withPlan(async (compiled) => {
      const [session, other] = [compiled.open(), compiled.open()];
      for (const each of [session, other]) await each.run(step(3, 0));
      // Queued behind another run, so that the abort comes before its evaluation.
      const stop = new AbortController();
      const [, second] = [other.run(step(4, 1)), session.run(step(4, 1), stop.signal)];
      stop.abort();
      expect(await second.then(() => "ran", codeOf)).toBe("CANCELLED");
      const [wanted, got] = [
        await other.run(step(5, 2)),
        await session.run(step(4, 1)).then(() => session.run(step(5, 2))),
      ];
      expect(got.outputs["logits"]?.bytes).toEqual(wanted.outputs["logits"]?.bytes);
      session.dispose();
      other.dispose();
    }, "eager");
  });

  test("RLX_MLX_MODE is the mode that models are opened in", async () => {
    const path = join(repositoryRoot, "assets/models/rlx-sample.gguf");
    for (const [mode, traces] of [
      ["compiled", 1],
      ["lazy", 0],
    ] as const) {
      const { mlxMode, dispatch } = readSettings({ RLX_MLX_MODE: mode });
      const file = await openGguf(await openFileSource(path));
      const prepare = prepareDecoder("mlx", { dispatch });
      const model = openMlxDecoder(mlx, file, [path], { cacheType: "f32", mode: mlxMode, prepare });
      const session = model.open({ context: 64 });
      await session.feed([1]);
      expect(model.compiled.facts().traces).toBe(traces);
      session.dispose();
      model.dispose();
      await file.close();
    }
    expect(() => readSettings({ RLX_MLX_MODE: "fast" })).toThrow(/RLX_MLX_MODE/);
  });
});
