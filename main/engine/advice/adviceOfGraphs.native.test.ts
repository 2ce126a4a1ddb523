// Advice for a graph without a model: the runtime that its table calls faster, and nothing that gains as good as nothing.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TargetSpec } from "../../contract/views/common.ts";
import { GALLERY } from "../../gallery/gallery.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";

const target: TargetSpec = { chip: "m4", os: "macos15", units: "cpu-ane", profile: "auto", context: 2048 };

let harness: Harness;
beforeAll(async () => {
  harness = await engineHarness();
});
afterAll(() => harness.done());

it("names the runtime that the forecast of a run is clearly shorter on", async () => {
  const path = join(harness.folder, "net.rlx");
  await writeFile(path, GALLERY.find(({ id }) => id === "cnn")?.text ?? "");
  const { model } = await harness.client.call("model.open", { source: { kind: "path", path } });
  const asked = { model, target, phase: "decode", backend: "coreml" } as const;
  const { advices } = await harness.client.call("advice.list", asked);
  // All units gain 2 µs of a run of 103 µs, which is no advice.
  expect(advices.map(({ rule }) => rule)).toEqual(["runtime"]);
  const [{ before, after, change, applies, canMeasure } = { before: null, after: null }] = advices;
  expect(change).toEqual({ kind: "backend", backend: "cpu" });
  expect(applies).toBe("Looks at the graph on CPU, and runs it there.");
  expect(canMeasure).toMatchObject({ ok: false, sentence: "Advice for a graph is not measured here." });
  // As the table of its targets says.
  const subject = { backend: "coreml", target } as const;
  const { own, rows } = await harness.client.call("verdict.get", { model, subject, rows: "all", cacheType: null });
  const cpu = rows.find((row) => row.subject.backend === "cpu");
  expect([before?.value, after?.value]).toEqual([own, cpu].map((row) => (row?.ok ? row.speed.token.value : null)));
});
