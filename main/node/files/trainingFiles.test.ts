// Records of runs that several saves write at once: the last one that was asked for stays.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { createTrainingRuns } from "./trainingFiles.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-training-files-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const RUN = "0123456789abcdef";

it("a large record that is still being written does not replace the one that is saved behind it", async () => {
  const runs = createTrainingRuns(folder);
  const saved = ["x".repeat(8 << 20), "the end"].map((text) => runs.save(RUN, text));
  await Promise.all(saved);
  expect(await runs.load(RUN)).toBe("the end");
});

it("a run that is forgotten while it is saved is gone", async () => {
  const runs = createTrainingRuns(folder);
  const saved = runs.save(RUN, "x".repeat(8 << 20));
  await runs.remove(RUN);
  await saved;
  expect(await runs.list()).toEqual([]);
});
