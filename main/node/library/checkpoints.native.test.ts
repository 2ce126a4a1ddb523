/** A training that goes on from a file gives the bits of one that was not interrupted. */
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { buildGraph, optimizers, TrainingSession } from "../../library/index.ts";
import { loadCheckpoint, saveCheckpoint, trainingDevice } from "./index.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-checkpoints-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const graph = buildGraph("line", (g) => {
  const y = g.linear([g.input("x", "f32[4,1]"), g.param("slope", "f32[1,1]")]);
  const error = g.sub([y, g.input("target", "f32[4,1]")]);
  g.output("loss", g.reduce([g.mul([error, error])], { kind: "mean", axes: [0, 1] }));
});
const batch = { x: [1, 2, 3, 4], target: [3, 6, 9, 12] };
const open = (isFused: boolean): TrainingSession => {
  const config = { device: trainingDevice("cpu"), optimizer: optimizers.adamw(), lr: 0.1 };
  const session = new TrainingSession(graph, ["slope"], { slope: [0.5] }, config);
  return isFused ? session.withFusedOptimizer() : session;
};

it.each([false, true])("fused: %s", async (isFused) => {
  const path = join(folder, `fused-${isFused}.safetensors`);
  const whole = open(isFused);
  const [later, cut] = [open(isFused), open(isFused)];
  for (let i = 0; i < 10; i++) await whole.step(batch);
  await saveCheckpoint(whole, path);
  for (let i = 0; i < 10; i++) await whole.step(batch);
  await loadCheckpoint(later, path);
  expect(later.steps).toBe(10);
  for (let i = 0; i < 10; i++) await later.step(batch);
  expect(await later.snapshot()).toEqual(await whole.snapshot());

  // Cancelled: the old file stays, and nothing beside it.
  await expect(saveCheckpoint(whole, path, AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
  await loadCheckpoint(cut, path);
  expect(cut.steps).toBe(10);
  expect(readdirSync(folder).filter((name) => name.endsWith(".part"))).toEqual([]);
  await Promise.all([whole, later, cut].map((session) => session.dispose()));
});

it("removes what a killed process left, and nothing that is being written", async () => {
  const path = join(folder, "a.safetensors");
  const [old, young, other] = [".a.safetensors.0.part", ".a.safetensors.1.part", ".b.safetensors.0.part"];
  for (const name of [old, young, other]) writeFileSync(join(folder, name), "");
  for (const name of [old, other]) utimesSync(join(folder, name), 1, 1);
  const session = open(false);
  await session.step(batch);
  await saveCheckpoint(session, path);
  expect(readdirSync(folder)).not.toContain(old);
  expect(readdirSync(folder)).toEqual(expect.arrayContaining([young, other]));
  await session.dispose();
});

it("says what is missing", async () => {
  const session = open(false);
  await expect(loadCheckpoint(session, join(folder, "none"))).rejects.toMatchObject({ code: "INPUT_NOT_FOUND" });
  writeFileSync(join(folder, "text"), "no checkpoint at all");
  await expect(loadCheckpoint(session, join(folder, "text"))).rejects.toMatchObject({ code: "INPUT_TRUNCATED" });
  await session.dispose();
});
