// Verdicts of advice outlive the process; a file that cannot be read is moved aside, never overwritten.
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { adviceVerdictOf } from "../../engine/advice/measure.ts";
import { createVerdicts } from "./verdicts.ts";

let folder = "";
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "rlx-verdicts-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const verdict = adviceVerdictOf(
  { pairs: Array.from({ length: 6 }, () => ({ before: 2, after: 1 })), red: [], stopped: null },
  { machine: "here", at: 1, notes: [] },
);

it("keeps a verdict by its key for the next process, and replaces it", async () => {
  await createVerdicts(folder).put("a", verdict);
  await createVerdicts(folder).put("b", verdict);
  await createVerdicts(folder).put("a", { ...verdict, at: 2 });
  const later = createVerdicts(folder);
  expect((await later.get("a"))?.at).toBe(2);
  expect(await later.get("b")).toEqual(verdict);
  expect(await later.get("c")).toBeUndefined();
});

it("moves an unreadable file aside", async () => {
  await writeFile(join(folder, "verdicts.json"), '{"version":1,"verdicts":[{"key":"a"}]}');
  expect(await createVerdicts(folder).get("a")).toBeUndefined();
  expect(await readdir(folder)).toEqual(["verdicts.json.unreadable"]);
});
