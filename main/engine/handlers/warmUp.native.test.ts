// Warming up ends by itself, gives way to other work, stops when a model is opened, and leaves
// nothing behind.
import { afterEach, beforeEach, expect, it } from "vitest";
import { toWireError } from "../../diagnostics/errors.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await engineHarness();
});
afterEach(() => harness.done());

it("answers others meanwhile, and keeps no model", async () => {
  let over = false;
  const warming = harness.engine.warmUp().then(() => (over = true));
  let answers = 0;
  while (!over) {
    await harness.client.call("recents.list", {});
    answers++;
  }
  await warming;
  expect(answers).toBeGreaterThan(10);
  const error: unknown = await harness.client.call("model.close", { model: "m1" }).catch((reason: unknown) => reason);
  expect(toWireError(error).code).toBe("HANDLE_UNKNOWN");
});

it("ends for the first model that is opened", async () => {
  const ended: string[] = [];
  const warming = harness.engine.warmUp().then(() => ended.push("warm-up"));
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(ended).toEqual([]);
  const { model, target } = await harness.client.call("model.open", {
    source: { kind: "offer", id: "header-only-400" },
  });
  const graph = harness.client.call("graph.get", {
    model,
    stage: { backend: "coreml", step: "legal", target },
    phase: "decode",
  });
  await Promise.all([warming, graph.then(() => ended.push("graph"))]);
  expect(ended).toEqual(["warm-up", "graph"]);
});

it("ends with the engine", async () => {
  const warming = harness.engine.warmUp();
  await harness.engine.dispose();
  await expect(warming).resolves.toBeUndefined();
});
