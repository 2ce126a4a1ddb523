// 10 000 decode steps, 100 sessions and 60 shapes on MLX leave the memory where it was: arrays, traces, process.
import { afterAll, describe, expect, test } from "vitest";
import type { MlxMode, MlxEngine } from "./engine.ts";
import { compile } from "../../compiler/compile.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";
import type { MlxCompiled } from "../../runtime/devices/mlx.ts";
import { mlxDevice } from "../../runtime/devices/mlx.ts";
import { TINY_OPTIONS, tinyModel, tinyParam } from "../../testing/tinyModels.ts";
import type { WeightFile } from "../../testing/weightFile.ts";
import { weightFile } from "../../testing/weightFile.ts";
import { findMlxEngine } from "../../node/native/mlxAddon.ts";
import { reasonNotFound } from "../../testing/skipping.ts";

const found = findMlxEngine();
const missing = reasonNotFound(found);
const mlx = found as MlxEngine;

const graph = tinyModel("qwen3", 2, { ...TINY_OPTIONS, capacity: "capacity", largestCapacity: 1024, largestStep: 64 });
const legal = compile(graph, { backend: "mlx" }).graph;
let weights: WeightFile | undefined;
const open = (mode: MlxMode): MlxCompiled => {
  weights ??= weightFile(legal, (name, type) => tensorBytes(tinyParam(name, type)));
  return mlxDevice(mlx, { mode, weights }).compile(legal);
};
const request = (tokens: readonly number[], past: number): Parameters<ReturnType<MlxCompiled["open"]>["run"]>[0] => ({
  inputs: { tokens: Int32Array.from(tokens), past: Int32Array.of(past), logit_rows: Int32Array.of(0) },
  fetch: ["logits"],
});

interface Memory {
  readonly active: number;
  readonly process: number;
}
const memory = (): Memory => {
  mlx.setMemory({ clearCache: true });
  return { active: mlx.memory().active, process: process.memoryUsage.rss() };
};
function expectLevel(before: Memory, after: Memory): void {
  expect(after.active - before.active).toBeLessThan(64 << 10);
  // A leak of 1 kB a step would be 10 MB more than this.
  expect(after.process - before.process).toBeLessThan(24 << 20);
}

afterAll(() => {
  weights?.remove();
  if (missing === undefined) expect(mlx.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
});

describe.skipIf(missing !== undefined)(`growth ${missing ?? ""}`, () => {
  test.each(["compiled", "lazy"] as const)("10 000 steps, %s", async (mode) => {
    const compiled = open(mode);
    const session = compiled.open({ symbols: { capacity: 1024 } });
    const steps = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) await session.run(request([i % 48], i % 1000));
    };
    await steps(2000);
    const before = memory();
    await steps(10_000);
    expectLevel(before, memory());
    if (mode === "compiled") expect(compiled.facts().traces).toBe(4);
    session.dispose();
    compiled.dispose();
  });

  test("sessions come and go, and prompts of sixty lengths keep a bounded number of traces", async () => {
    const compiled = open("compiled");
    const round = async (): Promise<void> => {
      const session = compiled.open({ symbols: { capacity: 256 } });
      for (let length = 1; length <= 60; length++)
        await session.run(
          request(
            Array.from({ length }, (_, i) => i % 48),
            0,
          ),
        );
      // The end of a session waits for the engine's thread, and so does the emptying of the next one behind it.
      session.dispose();
      const next = compiled.open({ symbols: { capacity: 256 } });
      await next.reset();
      next.dispose();
    };
    for (let i = 0; i < 4; i++) await round();
    const before = memory();
    for (let i = 0; i < 12; i++) await round();
    expectLevel(before, memory());
    compiled.dispose();
  });
});
