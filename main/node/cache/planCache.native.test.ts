// A kept plan gives the tokens that a fresh one gives; whatever else lies under its key is compiled again; the key holds all
// that a plan follows from.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { PlanHandle } from "../../backends/cpu/engine.ts";
import type { TokenSession } from "../../ir/session.ts";
import { compileNow } from "../../compiler/compile.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import { createClient } from "../../contract/client.ts";
import { contract } from "../../contract/contract.ts";
import { createPortPair } from "../../contract/port.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { Graph } from "../../ir/graph.ts";
import { decodeArtifact, encodeArtifact } from "../../runtime/cpuArtifact.ts";
import type { DecoderModel } from "../../runtime/decoderModel.ts";
import { decoderArtifact } from "../../runtime/devices/cpu.ts";
import { profileDecoder } from "../../runtime/profile.ts";
import { seededRandom } from "../../testing/random.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { loadAddon } from "../native/addon.ts";
import { diskStore } from "./diskStore.ts";
import { nodeEngine } from "../nodeEngine.ts";
import { openFileSource } from "../files/fileByteSource.ts";
import type { PlanCache } from "./planCache.ts";
import { openCachedDecoder, planKey } from "./planCache.ts";
import { readSettings } from "../settings.ts";

const native = loadAddon();
const folder = mkdtempSync(join(tmpdir(), "rlx-plans-"));
const path = join(folder, "tiny.gguf");
const place = join(folder, "cache");
const prepare = vi.fn((graph: Graph): Graph => compileNow(graph, { backend: "cpu" }).graph);
const options = { threads: 2, cacheType: "f16", prepare } as const;
const cache: PlanCache = { store: diskStore(place), build: "a build", dispatch: "prefer-native" };

let file: GgufFile;
const opened: GgufFile[] = [];
const openFile = async (name: string): Promise<GgufFile> => {
  const found = await openGguf(await openFileSource(name));
  opened.push(found);
  return found;
};
beforeAll(async () => {
  await writeTinyGguf(path);
  file = await openFile(path);
});
afterAll(async () => {
  await Promise.all(opened.map((each) => each.close()));
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await diskStore(place).clear();
  prepare.mockClear();
});

const GREEDY = { temperature: 0, topK: 0, topP: 1, minP: 0, repeatPenalty: 1, seed: 0, alternatives: 0 };
async function tokensOf(decoder: DecoderModel): Promise<number[]> {
  const session = decoder.open({ context: 64 });
  const sample = { ...GREEDY, recent: new Int32Array(0), step: 0 };
  const tokens: number[] = [];
  for (let next: readonly number[] = [1, 50, 200]; tokens.length < 16;) {
    const drawn = await session.feed(next, { sample });
    tokens.push(drawn!.id);
    next = [drawn!.id];
  }
  session.dispose();
  return tokens;
}

/** Opens, draws, disposes. */
async function run(with_: PlanCache | null = cache): Promise<{ readonly how: string; readonly tokens: number[] }> {
  const { decoder, how } = await openCachedDecoder(native, file, [path], options, with_ ?? undefined);
  const tokens = await tokensOf(decoder);
  decoder.dispose();
  return { how, tokens };
}

describe("a kept plan", () => {
  it("gives the same tokens and the same profile, without building or optimising a graph", async () => {
    const fresh = await run(null);
    expect(new Set(fresh.tokens).size).toBeGreaterThan(3);
    expect(await run()).toEqual({ how: "made", tokens: fresh.tokens });
    expect(prepare).toHaveBeenCalledTimes(2);
    expect(await run()).toEqual({ how: "hit", tokens: fresh.tokens });
    expect(prepare).toHaveBeenCalledTimes(2);
    const titles = async (with_: PlanCache | undefined): Promise<unknown> => {
      const { decoder } = await openCachedDecoder(native, file, [path], options, with_);
      const session = decoder.open({ context: 64 });
      const {
        titles: found,
        plan,
        runs,
      } = await profileDecoder(decoder.compiled.steps, session, { promptTokens: 8, generateTokens: 2 });
      session.dispose();
      decoder.dispose();
      return { found, plan, tokens: runs.map((each) => each.tokens), weights: decoder.compiled.weightBytes };
    };
    expect(await titles(cache)).toEqual(await titles(undefined));
    expect(native.counts()).toMatchObject({ weights: 0, plans: 0, sessions: 0 });
  });

  it("that is damaged, cut, empty or foreign is a miss, and is mended", async () => {
    const { tokens } = await run();
    const [name] = readdirSync(place);
    const entry = join(place, name!);
    const whole = readFileSync(entry);
    const random = seededRandom(3);
    const damaged: Uint8Array[] = [
      new Uint8Array(0),
      new Uint8Array(whole.length),
      whole.subarray(1),
      Uint8Array.of(...whole, 0),
    ];
    for (let i = 0; i < 16; i++) {
      const bytes = Uint8Array.from(whole);
      bytes[random.integer(bytes.length)]! ^= 1 << random.integer(8);
      damaged.push(bytes, whole.subarray(0, random.integer(whole.length)));
    }
    for (const bytes of damaged) {
      writeFileSync(entry, bytes);
      expect(await run()).toEqual({ how: "repaired", tokens });
    }
    expect(await run()).toEqual({ how: "hit", tokens });
    expect(native.counts()).toMatchObject({ weights: 0, plans: 0, sessions: 0 });
  });

  it("with a right checksum and a wrong content runs without harm, or is compiled again", async () => {
    const content = encodeArtifact(decoderArtifact(file, options));
    expect(decodeArtifact(content)).toEqual(decoderArtifact(file, options));
    const random = seededRandom(4);
    const planBytes = decoderArtifact(file, options).plan.length;
    const store: PlanCache["store"] = { get: () => Promise.resolve(undefined), put: () => Promise.resolve() };
    let [refused, ran] = [0, 0];
    for (let i = 0; i < 2000; i++) {
      const bytes = i % 8 === 0 ? content.slice(0, random.integer(content.length)) : content.slice();
      const view = new DataView(bytes.buffer);
      for (let n = random.integer(3); n >= 0 && bytes.length > planBytes; n--) {
        if (i % 2 === 0)
          bytes[random.integer(bytes.length)] = random.pick([0, 1, 34, 127, 128, 255, random.integer(256)]);
        else {
          const at = bytes.length - planBytes + 4 * random.integer(Math.floor(planBytes / 4));
          const old = view.getUint32(at, true);
          view.setUint32(
            at,
            random.pick([0, 1, 2, old + 1, old * 2, old >>> 1, 0xffffffff, random.integer(400)]),
            true,
          );
        }
      }
      try {
        const artifact = decodeArtifact(bytes);
        if (artifact === undefined) throw Object.assign(new Error("not ours"), { code: "INPUT_MALFORMED" });
        const weights = native.openWeights({ paths: [path] });
        let plan: PlanHandle | undefined;
        let session: TokenSession | undefined;
        try {
          plan = native.loadPlan(artifact.plan, weights);
          session = plan.openSession({ threads: 1, symbols: { capacity: 64 } });
          const inputs = { tokens: Int32Array.of(1), past: Int32Array.of(0), logit_rows: Int32Array.of(0) };
          await session.run({ inputs, symbols: { T: 1, R: 1 } });
          ran++;
        } finally {
          session?.dispose();
          plan?.dispose();
          weights.dispose();
        }
      } catch (error) {
        expect((error as { code?: unknown }).code).toMatch(/^(?!BUG_)[A-Z_]+$/);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(500);
    expect(ran).toBeGreaterThan(100);
    expect((await run({ ...cache, store })).how).toBe("made");
  });

  it("is shared by processes that write it at the same time", async () => {
    const program = join(folder, "writer.mts");
    writeFileSync(
      program,
      `import { openGguf } from ${JSON.stringify(join(import.meta.dirname, "../../formats/gguf/open.ts"))};
       import { loadAddon } from ${JSON.stringify(join(import.meta.dirname, "../native/addon.ts"))};
       import { diskStore } from ${JSON.stringify(join(import.meta.dirname, "diskStore.ts"))};
       import { openFileSource } from ${JSON.stringify(join(import.meta.dirname, "../files/fileByteSource.ts"))};
       import { openCachedDecoder } from ${JSON.stringify(join(import.meta.dirname, "planCache.ts"))};
       const [path, place] = process.argv.slice(2);
       const store = diskStore(place);
       const file = await openGguf(await openFileSource(path));
       for (let i = 0; i < 20; i++) {
         const cache = { store, build: "b" + (i % 4), dispatch: "prefer-native" };
         if (i % 5 === 4) await store.clear();
         (await openCachedDecoder(loadAddon(), file, [path], { threads: 1 }, cache)).decoder.dispose();
       }
       await file.close();`,
    );
    const codes = [1, 2, 3].map(
      () =>
        new Promise((resolve) => {
          const child = spawn(process.execPath, ["--import", "tsx", program, path, place], {
            cwd: join(import.meta.dirname, "../../.."),
            stdio: ["ignore", "ignore", "inherit"],
          });
          child.on("exit", resolve);
        }),
    );
    expect(await Promise.all(codes)).toEqual([0, 0, 0]);
    expect(readdirSync(place).filter((name) => !name.endsWith(".plan"))).toEqual([]);
  });
});

describe("the key", () => {
  it("changes with the file's header and size, the options, the dispatch and the sources, and with nothing else", async () => {
    const key = (name: GgufFile, choice: object = {}, from: object = {}): string =>
      planKey(name, { ...options, ...choice }, { ...cache, ...from });
    const other = join(folder, "other.gguf");
    await writeTinyGguf(other, { layers: 3 });
    const longer = join(folder, "longer.gguf");
    writeFileSync(longer, Buffer.concat([readFileSync(path), Buffer.alloc(32)]));
    const copy = join(folder, "copy.gguf");
    const values = readFileSync(path);
    values[values.length - 1]! ^= 1;
    writeFileSync(copy, values);
    const keys = [
      key(file),
      key(await openFile(other)),
      key(await openFile(longer)),
      key(file, { cacheType: "f32" }),
      key(file, { chunk: 64 }),
      key(file, { asGgml: true }),
      key(file, { asGgml: false }),
      key(file, {}, { dispatch: "force-common" }),
      key(file, {}, { build: "another build" }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys.every((each) => /^[0-9a-f]{64}$/.test(each))).toBe(true);
    // Other weights under the same header: the same plan.
    expect(key(await openFile(copy))).toBe(key(file));
    expect(key(file, { threads: 7 })).toBe(key(file));
  });
});

describe("the engine", () => {
  const engineAt = (home: string, environment: Record<string, string>, build?: string) => {
    const settings = readSettings({ RLX_HOME: home, ...environment });
    const engine = nodeEngine(build === undefined ? { settings } : { settings, build });
    const [near, far] = createPortPair();
    engine.connect(far);
    const client = createClient(contract, near);
    const open = async (file: string) =>
      (await client.call("model.open", { source: { kind: "path", path: file } })).model;
    /** A session for so many tokens. */
    const score = async (model: string, count: number): Promise<number> => {
      const source = { kind: "tokens", tokens: Int32Array.from({ length: count }, (_, at) => at + 1) } as const;
      for await (const item of client.stream("score.run", { model, source }))
        if (item.kind === "done") return item.perplexity;
      throw new Error("no score");
    };
    return { engine, client, open, score };
  };
  const entries = async (environment: Record<string, string>, build?: string): Promise<number> => {
    const home = mkdtempSync(join(folder, "home-"));
    const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const { engine, open, score } = engineAt(home, environment, build);
    try {
      const model = await open(path);
      await Promise.all([score(model, 8), score(model, 16)]);
      expect(native.counts()).toMatchObject({ plans: 1, sessions: 2 });
      return readdirSync(home, { recursive: true }).filter((name) => String(name).endsWith(".plan")).length;
    } finally {
      await engine.dispose();
      write.mockRestore();
    }
  };
  it("keeps plans of a built program only, and not when it is asked to report or to keep none", async () => {
    expect(await entries({})).toBe(0);
    expect(await entries({}, "b")).toBe(1);
    expect(await entries({ RLX_VERBOSE: "1" }, "b")).toBe(0);
    expect(await entries({ RLX_DISPATCH_REPORT: "1" }, "b")).toBe(0);
    expect(await entries({ RLX_CACHE: "off" }, "b")).toBe(0);
    expect(native.counts()).toMatchObject({ weights: 0, plans: 0, sessions: 0 });
  });

  it("tries again after a failure, and leaves nothing of a model that was closed meanwhile", async () => {
    const { engine, client, open, score } = engineAt(mkdtempSync(join(folder, "home-")), {}, "b");
    const moved = join(folder, "moved.gguf");
    writeFileSync(moved, readFileSync(path));
    const model = await open(moved);
    const away = join(folder, "away.gguf");
    renameSync(moved, away);
    for (let i = 0; i < 2; i++) await expect(score(model, 4)).rejects.toMatchObject({ code: "INPUT_NOT_FOUND" });
    renameSync(away, moved);
    expect(await score(model, 4)).toBeGreaterThan(1);
    const closing = await open(path);
    const scoring = score(closing, 4);
    await client.call("model.close", { model: closing });
    await expect(scoring).rejects.toMatchObject({ code: "HANDLE_UNKNOWN" });
    await engine.dispose();
    expect(native.counts()).toMatchObject({ weights: 0, plans: 0, sessions: 0 });
  });
});
