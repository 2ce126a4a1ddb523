// A file's hints are used where nothing else is said, and the run tells which numbers they are.
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SAMPLING_DEFAULTS } from "../../contract/views/run.ts";
import { numberEntry, stringEntry } from "../../formats/gguf/encode.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";

let engine: Harness;
beforeAll(async () => {
  engine = await engineHarness();
});
afterAll(async () => {
  await engine.done();
});

test("hints, what was asked for, and defaults", async () => {
  const path = join(engine.folder, "hinted.gguf");
  const keys = [
    numberEntry("general.sampling.temp", "f32", 0.3),
    numberEntry("general.sampling.top_k", "i32", 7),
    numberEntry("general.sampling.top_p", "f32", 7),
    stringEntry("general.sampling.min_p", "much"),
  ];
  await writeTinyGguf(path, { keys });
  const overview = await engine.client.call("model.open", { source: { kind: "path", path } });
  expect(overview.samplingHints.values).toEqual({ temperature: 0.3, topK: 7 });
  const startOf = async (sampling: object) => {
    const prompt = { kind: "completion", text: "abc" } as const;
    const items = await engine.all("run.start", { model: overview.model, prompt, sampling, maxTokens: 1, context: 32 });
    const start = items.find((item) => item.kind === "start");
    return start?.kind === "start" ? start.sampling : undefined;
  };
  const note = "general.sampling.top_p is left out: got 7, expected a number from 0 to 1.";
  expect(await startOf({})).toEqual({
    values: { ...SAMPLING_DEFAULTS, temperature: 0.3, topK: 7 },
    fromFile: ["temperature", "topK"],
    notes: [note],
  });
  expect(await startOf({ temperature: 1.2, xtcProbability: 0.5 })).toEqual({
    values: { ...SAMPLING_DEFAULTS, temperature: 1.2, topK: 7, xtcProbability: 0.5 },
    fromFile: ["topK"],
    notes: [note],
  });
});

test("a run and a bench compute in the floats that are asked for, and say so; a device with floats of its own refuses", async () => {
  const path = join(engine.folder, "floats.gguf");
  await writeTinyGguf(path);
  const { model } = await engine.client.call("model.open", { source: { kind: "path", path } });
  const prompt = { kind: "completion", text: "abc" } as const;
  const logprob = async (precision: "f32" | "mixed" | "f16"): Promise<number> => {
    const sampling = { temperature: 0 };
    const items = await engine.all("run.start", { model, prompt, sampling, precision, maxTokens: 1, context: 32 });
    const token = items.find((item) => item.kind === "token");
    return token?.kind === "token" ? token.token.logprob : NaN;
  };
  const exact = await logprob("f32");
  for (const half of ["mixed", "f16"] as const) {
    const rounded = await logprob(half);
    expect(rounded).not.toBe(exact);
    expect(Math.abs(rounded - exact)).toBeLessThan(0.05);
  }
  expect(await logprob("f32")).toBe(exact);
  const measured = await engine.all("bench.run", {
    ...{ model, promptTokens: 4, generateTokens: 0, repeats: 1, warmup: 0, conditions: "warn" },
    precision: "mixed",
  });
  const done = measured.find((item) => item.kind === "done");
  expect(done?.kind === "done" && done.kernels).toMatch(/, mixed precision$/u);
  const simulated = engine.all("run.start", { model, prompt, device: "coreml-sim", precision: "f16", maxTokens: 1 });
  await expect(simulated).rejects.toThrow("precision: got f16");
});
