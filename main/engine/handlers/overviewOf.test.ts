/** What the overview says that a file can do, where its words decide it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openGguf } from "../../formats/gguf/open.ts";
import { deviceRegistry } from "../../runtime/devices/registry.ts";
import { openFileSource } from "../../node/files/fileByteSource.ts";
import { toyDevice } from "../../testing/toyDevice.ts";
import type { TinyGguf } from "../../testing/tinyGguf.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { OpenModel } from "../models/openModel.ts";
import { overviewOf } from "./inspectHandlers.ts";

const TARGET = { chip: "m4", os: "macos15", units: "all", profile: "auto", context: 512 } as const;
const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function abilities(made: TinyGguf) {
  const folder = await mkdtemp(join(tmpdir(), "rlx-overview-"));
  folders.push(folder);
  const path = join(folder, "tiny.gguf");
  await writeTinyGguf(path, made);
  const file = await openGguf(await openFileSource(path));
  const data = { kind: "paths", paths: [path] } as const;
  const model = new OpenModel("m", { kind: "model", file, data, offer: undefined, argument: null, openedInSeconds: 0 });
  const overview = overviewOf(model, TARGET, deviceRegistry([toyDevice]));
  await model.dispose();
  return overview;
}

it("a tokenizer that is refused says so at opening, and the rest still works", async () => {
  expect((await abilities({})).canRun).toEqual({ ok: true });
  const unknown = await abilities({ pre: "no-such-thing" });
  expect(unknown.canRun).toMatchObject({ ok: false, code: "UNSUPPORTED_TOKENIZER" });
  expect([unknown.canGraph.ok, unknown.canMeasure.ok, unknown.canExport.ok]).toEqual([true, true, true]);
});
