// What a session on MLX can do beside the common part: runs that are not waited for, outputs in the caller's own arrays, memory
// figures and limits.
import { afterAll, describe, expect, test } from "vitest";
import { compile } from "../compiler/compile.ts";
import { tensorBytes } from "../ir/hostBytes.ts";
import type { GraphRun } from "../runtime/device.ts";
import type { MlxCompiled, MlxEngine } from "../runtime/mlxDevice.ts";
import { mlxDevice } from "../runtime/mlxDevice.ts";
import { TINY_OPTIONS, tinyModel, tinyParam } from "../testing/tinyModels.ts";
import { weightFile } from "../testing/weightFile.ts";
import { findMlxEngine } from "./mlxAddon.ts";

const found = findMlxEngine();
const missing = typeof found === "string" ? found : undefined;
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

async function withPlan(work: (compiled: MlxCompiled) => Promise<void>): Promise<void> {
  const compiled = mlxDevice(mlx, { mode: "compiled", weights }).compile(legal);
  try {
    await work(compiled);
  } finally {
    compiled.dispose();
  }
}

describe.skipIf(missing !== undefined)("sessions on MLX", () => {
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
});
