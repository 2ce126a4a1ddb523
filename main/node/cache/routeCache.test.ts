// A kept route is drawn as a fresh one, column by column, and spares the lowering; whatever else lies under its key is made again.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, it, vi } from "vitest";
import type { CompileStore } from "../../compiler/compileCache.ts";
import { cached, memoryStore } from "../../compiler/compileCache.ts";
import { machineFor } from "../../compiler/cost/machines.ts";
import { createClient } from "../../contract/client.ts";
import { contract } from "../../contract/contract.ts";
import { createPortPair } from "../../contract/port.ts";
import { encodeFrame } from "../../contract/codec.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import type { RouteView } from "../../contract/views/route.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { nodeEngine } from "../nodeEngine.ts";
import { openFileSource } from "../files/fileByteSource.ts";
import { cachedRouteView, routeKey } from "./routeCache.ts";
import { readSettings } from "../settings.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-routes-"));
const path = join(folder, "tiny.gguf");
const place = join(folder, "cache");
await writeTinyGguf(path);
const file = await openGguf(await openFileSource(path));
afterAll(async () => {
  await file.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => rmSync(place, { recursive: true, force: true }));

const TARGET: TargetSpec = { chip: "m4", os: "macos15", units: "cpu-ane", profile: "auto", context: 64 };
const entries = (): readonly string[] => readdirSync(place).map((name) => join(place, name));

/** As a process of its own asks. `models`: how many it opens before. */
async function ask(build: string | undefined, phase: Phase, target = TARGET, models = 0): Promise<RouteView> {
  const engine = nodeEngine({
    settings: readSettings({ RLX_HOME: join(folder, "home"), RLX_CACHE: place }),
    ...(build === undefined ? {} : { build }),
  });
  const [near, far] = createPortPair();
  engine.connect(far);
  const client = createClient(contract, near);
  const source = { kind: "path", path } as const;
  for (let i = 0; i < models; i++) await client.call("model.open", { source });
  const { model } = await client.call("model.open", { source });
  const view = await client.call("route.get", { model, target, phase });
  expect(view.key.model).toBe(model);
  await engine.dispose();
  return { ...view, key: { ...view.key, model: "any" } };
}

it("gives the columns of a fresh route, under another number of the model too, and mends what is damaged", async () => {
  const fresh = await ask(undefined, "decode");
  expect(await ask("a build", "decode")).toEqual(fresh);
  const [entry = ""] = entries();
  expect(entries()).toHaveLength(1);
  const whole = readFileSync(entry);
  expect(await ask("a build", "decode", TARGET, 2)).toEqual(fresh);
  for (const damaged of [whole.subarray(0, 200), Buffer.from(whole.map((byte, i) => (i === 500 ? byte ^ 1 : byte)))]) {
    writeFileSync(entry, damaged);
    expect(await ask("a build", "decode")).toEqual(fresh);
    expect(readFileSync(entry)).toEqual(whole);
  }
});

it("asks for another entry for another phase, target, machine or build", async () => {
  await ask("a build", "decode");
  await ask("a build", "prefill");
  await ask("a build", "decode", { ...TARGET, units: "all" });
  await ask("another build", "decode");
  await ask("a build", "decode", { ...TARGET, chip: "m4-pro" });
  expect(entries()).toHaveLength(5);
});

const machine = machineFor(TARGET, { platform: "linux", chip: "", cores: 1, totalBytes: 0 });
const REQUEST = { model: "m2", file, target: TARGET, phase: "decode", machine } as const;
const through = (store: CompileStore, make: () => Promise<RouteView>): Promise<RouteView> =>
  cachedRouteView({ store, build: "a build" }, REQUEST, make);

it("lowers nothing for a hit", async () => {
  const view = await ask(undefined, "decode");
  const store = memoryStore();
  const make = vi.fn(() => Promise.resolve(view));
  expect(await through(store, make)).toMatchObject({ key: { model: "m2" } });
  expect(await through(store, make)).toEqual({ ...view, key: { ...view.key, model: "m2" } });
  expect(make).toHaveBeenCalledTimes(1);
});

it("believes no entry whose columns do not fit together", async () => {
  const view = await ask(undefined, "decode");
  const { nodes } = view;
  const forged: readonly unknown[] = [
    { ...view, strings: [] },
    { ...view, nodes: { ...nodes, work: nodes.work.slice(1) } },
    { ...view, nodes: { ...nodes, device: [...nodes.device] } },
    { ...view, segments: undefined },
    "none of ours",
  ];
  for (const value of forged) {
    const store = memoryStore();
    const content = encodeFrame(value);
    await cached(store, routeKey(REQUEST, "a build"), { read: () => undefined, make: () => ({ value, content }) });
    const make = vi.fn(() => Promise.resolve(view));
    expect((await through(store, make)).nodes).toEqual(nodes);
    expect(make).toHaveBeenCalledTimes(1);
  }
});

it("passes a cancel on, and keeps nothing of it", async () => {
  const store = memoryStore();
  await expect(through(store, () => Promise.reject(new Error("cancelled")))).rejects.toThrow("cancelled");
  expect(store.entries.size).toBe(0);
});
