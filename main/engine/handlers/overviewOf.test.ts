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
import { cpuAccess, cpuProvider } from "../../runtime/devices/cpu.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import type { Overview } from "../../contract/views/model.ts";
import { OpenModel } from "../models/openModel.ts";
import { overviewOf } from "./inspectHandlers.ts";

const TARGET = { chip: "m4", os: "macos15", units: "all", profile: "auto", context: 512 } as const;
const HERE = { platform: "linux", chip: "", cores: 1, totalBytes: 2 ** 33 } as const;
const CPU = {
  access: cpuAccess(() => {
    throw new Error("not built");
  }),
  dispatch: "prefer-native",
} as const;
const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function overviewFor(made: TinyGguf, target: TargetSpec = TARGET): Promise<Overview> {
  const folder = await mkdtemp(join(tmpdir(), "rlx-overview-"));
  folders.push(folder);
  const path = join(folder, "tiny.gguf");
  await writeTinyGguf(path, made);
  const file = await openGguf(await openFileSource(path));
  const data = { kind: "paths", paths: [path] } as const;
  const model = new OpenModel("m", { kind: "model", file, data, offer: undefined, argument: null, openedInSeconds: 0 });
  const overview = overviewOf(model, target, deviceRegistry([toyDevice, cpuProvider(CPU)]), HERE);
  await model.dispose();
  return overview;
}

it("a tokenizer that is refused says so at opening, and the rest still works", async () => {
  expect((await overviewFor({})).canRun).toEqual({ ok: true });
  const unknown = await overviewFor({ pre: "no-such-thing" });
  expect(unknown.canRun).toMatchObject({ ok: false, code: "UNSUPPORTED_TOKENIZER" });
  expect([unknown.canGraph.ok, unknown.canMeasure.ok, unknown.canExport.ok]).toEqual([true, true, true]);
});

it("forecasts what the target reads, and the engines beside it", async () => {
  const read = async (target: TargetSpec): Promise<Record<string, number | undefined>> =>
    Object.fromEntries(
      (await overviewFor({}, target)).forecasts.map(({ title, fit }) => [title, fit.rows[0]?.value.value]),
    );
  const ane = await read({ ...TARGET, units: "cpu-ane" });
  const exact = await read({ ...TARGET, profile: "exact" });
  const { parameters, mix } = await overviewFor({});
  const stored = mix.reduce((sum, { bytes }) => sum + bytes, 0);
  expect(Object.keys(ane)).toEqual(["Core ML, CPU and Neural Engine", "CPU"]);
  // The Neural Engine reads two bytes a weight, the CPU engine what the file has.
  expect(ane).toEqual({ "Core ML, CPU and Neural Engine": parameters * 2, CPU: stored });
  expect(exact).toEqual({ "Core ML, All units": parameters * 4, CPU: stored });
});
