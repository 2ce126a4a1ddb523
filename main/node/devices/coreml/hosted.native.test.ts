// A model whose step has host parts in the middle, on the simulator and on Core ML (its double), through the same sessions as every
// other: its words, and its logits after rewinds, forks, a cancel in the middle of a step, equal the CPU engine's.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { FAMILIES } from "../../../models/families/index.ts";
import type { StreamItemOf } from "../../../contract/contract.ts";
import type { EngineClient } from "../../../contract/contract.ts";
import { hostedFamily } from "../../../testing/hostedFamily.ts";
import { compileNow } from "../../../compiler/compile.ts";
import { OpenModel } from "../../../engine/models/openModel.ts";
import type { EngineDevice } from "../../../engine/devices.ts";
import { openGguf } from "../../../formats/gguf/open.ts";
import type { DecoderSession } from "../../../runtime/decoderSession.ts";
import { openDecoder } from "../../../runtime/devices/cpu.ts";
import { doubleModule, noDouble } from "../../../testing/coremlDouble.ts";
import { engineOver, engineOverDouble, madeHome } from "../../../testing/coremlEngine.ts";
import type { DoubleEngine } from "../../../testing/coremlEngine.ts";
import { openFileSource } from "../../files/fileByteSource.ts";
import { loadAddon } from "../../native/addon.ts";
import { coremlAccess } from "./device.ts";
import { coremlProvider } from "./provider.ts";
import { simulatorProvider } from "./simulatorProvider.ts";
import { writePlainToy } from "../../../testing/toyFiles.ts";

vi.mock("../../../models/families/index.ts", async (original) => {
  const { FAMILIES: known } = await original<{ readonly FAMILIES: typeof FAMILIES }>();
  const { hostedFamily: added } = await import("../../../testing/hostedFamily.ts");
  return { FAMILIES: [...known, added] };
});

const DEVICES = ["coreml-sim", ...(noDouble === undefined ? ["coreml"] : [])];
const PROMPT = "Once upon a time there was a part that";

describe("a model with host parts", () => {
  let engine: DoubleEngine;
  let client: EngineClient;
  let model: string;
  let path: string;
  const home = madeHome("hosted");
  beforeAll(async () => {
    engine = noDouble === undefined ? engineOverDouble(home) : engineOver(home);
    ({ client } = engine);
    path = join(home, "hosted.gguf");
    await writePlainToy(path, hostedFamily, hostedFamily.samples[0]!);
    ({ model } = await client.call("model.open", { source: { kind: "path", path } }));
  });
  afterAll(() => engine.close());

  const ids = async (device: string, text: string, count = 24): Promise<readonly number[]> => {
    const prompt = { kind: "completion", text } as const;
    const input = { model, device, prompt, maxTokens: count, context: 96, sampling: { temperature: 0, seed: 1 } };
    const items: StreamItemOf<"run.start">[] = [];
    for await (const item of client.stream("run.start", input)) items.push(item);
    return items.flatMap((item) => (item.kind === "token" ? [item.token.id] : []));
  };

  it.each(DEVICES)("writes on %s what it writes on the CPU", { timeout: 120_000 }, async (device) => {
    const wanted = await ids("cpu", PROMPT);
    expect(wanted).toHaveLength(24);
    expect(await ids(device, PROMPT)).toEqual(wanted);
  });

  const target = { chip: "m3", os: "macos15", units: "all", profile: "exact", context: 64 } as const;
  const providers: Readonly<Record<string, () => EngineDevice>> = {
    "coreml-sim": () => simulatorProvider({ engine: loadAddon, target, memoryLimit: 1e9 }),
    coreml: () => {
      const own = join(home, "double");
      mkdirSync(own, { recursive: true });
      return coremlProvider({ access: coremlAccess(own, doubleModule()), engine: loadAddon, target });
    },
  };

  it.each(DEVICES)(
    "goes back on %s, forks, saves, and stops in the middle of a step",
    { timeout: 120_000 },
    async (id) => {
      const file = await openGguf(await openFileSource(path));
      const facts = { kind: "model", offer: undefined, argument: null, openedInSeconds: 0 } as const;
      const opened = new OpenModel("hosted", { ...facts, file, data: { kind: "paths", paths: [path] } });
      const cpu = openDecoder(loadAddon(), file, [path], {
        ...{ cacheType: "f32", threads: 1, chunk: 16 },
        prepare: (graph) => compileNow(graph, { backend: "cpu" }).graph,
      });
      const fresh = async (tokens: readonly number[]): Promise<Float32Array> => {
        const session = cpu.open({ context: 64 });
        await session.feed(tokens.slice(0, -1));
        const row = await session.logits(tokens.slice(-1), [0]);
        session.dispose();
        return row;
      };
      const last = (session: DecoderSession, token: number): Promise<Float32Array> => session.logits([token], [0]);
      const gap = (a: Float32Array, b: Float32Array): number =>
        Math.max(...a.map((x, i) => Math.abs(x - (b[i] ?? NaN))));
      const made = await providers[id]!().openDecoder({
        ...{ source: opened, file, paths: [path], context: 64, threads: 1, countsExperts: false },
        signal: new AbortController().signal,
        onPhase: () => undefined,
      });
      const prompt = Array.from({ length: 21 }, (_, i) => (i * 37 + 5) % 301);
      const session = made.open({ context: 64, threads: 1 });
      try {
        expect(session.facts.rewind).toBe("checkpoint");
        await session.feed(prompt);
        expect(gap(await last(session, 7), await fresh([...prompt, 7]))).toBeLessThan(1e-4);
        const saved = await session.save();
        // A step that is stopped after its first part leaves nothing behind.
        const stop = new AbortController();
        const cut = session.feed([60, 61, 62], { signal: stop.signal });
        setImmediate(() => stop.abort());
        await expect(cut).rejects.toMatchObject({ code: "CANCELLED" });
        const wanted = await fresh([...prompt, 7, 50, 51]);
        session.truncate(prompt.length + 1);
        const fork = await session.fork();
        await session.feed([50]);
        expect(gap(await last(session, 51), wanted)).toBeLessThan(1e-4);
        await session.restore(saved);
        for (const each of [session, fork]) {
          await each.feed([50]);
          expect(gap(await last(each, 51), wanted)).toBeLessThan(1e-4);
        }
        fork.dispose();
        // Before the checkpoint: what stands there runs again.
        session.truncate(5);
        expect(gap(await last(session, 60), await fresh([...prompt.slice(0, 5), 60]))).toBeLessThan(1e-4);
        // The test can tell: a state that kept a token too many gives other logits.
        expect(gap(await last(session, 60), await fresh([...prompt.slice(0, 5), 60]))).toBeGreaterThan(0.01);
      } finally {
        session.dispose();
        await made.dispose();
        cpu.dispose();
        await opened.dispose();
      }
    },
  );

  it("has a route that shows its host parts", async () => {
    const view = await client.call("route.get", { model, target, phase: "decode" });
    const host = view.segments.filter(({ device }) => device === "host");
    expect(host.length).toBeGreaterThan(1);
  });

  it.skipIf(noDouble !== undefined)("is measured, and the benchmark says where a step's time went", async () => {
    const input = { model, device: "coreml", promptTokens: 4, generateTokens: 2, repeats: 1, warmup: 0 } as const;
    const items: StreamItemOf<"bench.run">[] = [];
    for await (const item of client.stream("bench.run", { ...input, conditions: "warn" })) items.push(item);
    const done = items.at(-1);
    expect(done?.kind === "done" && done.notes.join("\n")).toMatch(
      /A decode step, mean of \d+: \S+ ms in \d+ parts on Core ML, \S+ ms in \d+ parts on the host \(part \d+, .*fft/u,
    );
  });

  it.skipIf(noDouble !== undefined)("is profiled with the times of its host parts", { timeout: 60_000 }, async () => {
    const items: StreamItemOf<"profile.run">[] = [];
    const input = { model, device: "coreml", promptTokens: 4, generateTokens: 3 } as const;
    for await (const item of client.stream("profile.run", input)) items.push(item);
    const done = items.at(-1);
    if (done?.kind !== "done") throw new Error("no profile");
    const { lanes, slices, strings } = done.profile;
    expect(lanes.map(({ title }) => title)).toContain("Host parts and copies, clocked");
    const ops = new Set([...slices.op].map((op) => strings[op]));
    expect([...ops]).toContain("fft");
    const host = [...slices.op].flatMap((op, i) => (strings[op]?.includes("fft") === true ? [i] : []));
    expect(host.length).toBeGreaterThanOrEqual(4);
    for (const i of host) expect(slices.seconds[i]).toBeGreaterThan(0);
    for (const i of host) expect(slices.nodeStart[i + 1]).toBeGreaterThan(slices.nodeStart[i] ?? 0);
  });
});
