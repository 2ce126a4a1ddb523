// Sliding layers whose caches are rings, over several turns of them: the bits of whole caches on the CPU engine, the same
// logits on MLX and in the reference, less memory, and sessions that go back, are saved and go on as runs from nothing.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MlxEngine } from "../backends/mlx/engine.ts";
import { compileNow } from "../compiler/compile.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openGguf } from "../formats/gguf/open.ts";
import type { CacheType } from "../models/blocks.ts";
import { gemma3 } from "../models/families/gemma3.ts";
import { gptOss } from "../models/families/gptOss.ts";
import { gemma3n } from "../models/families/gemma3n.ts";
import type { Family } from "../models/family.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { promptCacheFiles } from "../node/files/promptCacheFiles.ts";
import { loadAddon } from "../node/native/addon.ts";
import { findMlxEngine } from "../node/native/mlxAddon.ts";
import { optimised } from "../testing/decoderRuns.ts";
import { reasonNotFound } from "../testing/skipping.ts";
import { writePlainToy } from "../testing/toyFiles.ts";
import type { DecoderModel, DecoderPlanOptions } from "./decoderModel.ts";
import type { DecoderSession } from "./decoderSession.ts";
import { openDecoder } from "./devices/cpu.ts";
import { openMlxDecoder } from "./devices/mlx.ts";
import { openReference } from "./devices/reference.ts";
import type { GenerateEvent } from "./generate.ts";
import { GREEDY, generate } from "./generate.ts";
import { loadPromptCache, savePromptCache } from "./promptCache.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-rings-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const mlx = findMlxEngine();
const noMlx = reasonNotFound(mlx);

const CONTEXT = 2048;
const CHUNK = 64;
const WINDOW = 40;
/** 39 positions before a token's own and a step of 64, in blocks of 256. */
const ROWS = 256;
const SPARE = ROWS - (WINDOW - 1);
/** Five turns of the ring, and more keys than the CPU engine takes at once. */
const LONG = 1300;

const text = (count: number, seed = 5): number[] => Array.from({ length: count }, (_, i) => (i * 37 + seed) % 251);

const FAMILIES: readonly (readonly [string, Family])[] = [
  ["gemma3", gemma3],
  ["gpt-oss", gptOss],
  ["gemma3n", gemma3n],
];
const files = new Map<string, { readonly file: GgufFile; readonly path: string }>();
beforeAll(async () => {
  for (const [name, family] of FAMILIES) {
    const path = join(folder, `${name}.gguf`);
    const sample = family.samples.find(({ keys }) => keys["attention.sliding_window"] !== undefined)!;
    const keys = { ...sample.keys, context_length: CONTEXT, "attention.sliding_window": WINDOW };
    await writePlainToy(path, family, {
      ...sample,
      keys: name === "gemma3" ? { ...keys, "attention.key_length": 32, "attention.value_length": 32 } : keys,
    });
    files.set(name, { file: await openGguf(await openFileSource(path)), path });
  }
});
afterAll(async () => {
  for (const { file } of files.values()) await file.close();
});

const decoderOf = (name: string, options: DecoderPlanOptions = {}): DecoderModel => {
  const { file, path } = files.get(name)!;
  const common = { cacheType: "f16", chunk: CHUNK, rings: true, threads: 2, prepare: optimised } as const;
  return openDecoder(loadAddon(), file, [path], { ...common, ...options });
};

const last = (session: DecoderSession, token: number): Promise<Float32Array> => session.logits([token], [0]);
const gap = (a: Float32Array, b: Float32Array): number => Math.max(...a.map((x, i) => Math.abs(x - (b[i] ?? NaN))));

/** Logits behind a long prompt, some tokens one by one and a few at once, and what the caches take. */
async function longRun(
  model: DecoderModel,
  context = CONTEXT,
): Promise<{ readonly logits: readonly Float32Array[]; readonly bytes: number }> {
  const session = model.open({ context });
  // Without the copy before the last token, for which the prompt would be cut there.
  await session.feed(text(LONG), { checkpoint: false });
  const logits = [await last(session, 9)];
  await session.feed([7]);
  await session.feed([8, 9, 10]);
  logits.push(await session.logits([4, 5, 6], [2]), await session.logits(text(30, 3), [29]));
  const bytes = session.largestCacheBytes;
  session.dispose();
  model.dispose();
  return { logits, bytes };
}

describe.each(FAMILIES)("%s", (name) => {
  it.each(["f16", "f32"] as const)("has the bits of whole caches, with less memory (%s)", async (cacheType) => {
    const rings = await longRun(decoderOf(name, { cacheType }));
    const whole = await longRun(decoderOf(name, { cacheType, rings: false }));
    expect(rings.logits).toEqual(whole.logits);
    expect(rings.bytes).toBeLessThan(0.8 * whole.bytes);
  });

  it.skipIf(noMlx !== undefined)(`has the same logits on MLX ${noMlx ?? ""}`, async () => {
    const { file, path } = files.get(name)!;
    const onMlx = (rings: boolean): DecoderModel =>
      openMlxDecoder(mlx as MlxEngine, file, [path], {
        ...{ mode: "compiled", cacheType: "f32", chunk: CHUNK, rings },
        prepare: (graph) => compileNow(graph, { backend: "mlx", verify: true }).graph,
      });
    const [rings, whole] = [await longRun(onMlx(true)), await longRun(onMlx(false))];
    rings.logits.forEach((logits, i) => expect(gap(logits, whole.logits[i]!)).toBeLessThan(1e-4));
    expect(rings.bytes).toBeLessThan(0.8 * whole.bytes);
  });
});

it("has the same logits in the reference", async () => {
  const { file } = files.get("gemma3")!;
  const prompt = text(ROWS + 6);
  const logits: Float32Array[] = [];
  for (const rings of [true, false]) {
    const model = await openReference(file, { cacheType: "f32", chunk: 4, rings });
    const session = model.open({ context: 512 });
    await session.feed(prompt);
    logits.push(await last(session, 9));
    session.dispose();
    model.dispose();
  }
  expect(gap(logits[0]!, logits[1]!)).toBeLessThan(1e-6);
});

it.each(["q8_0", "q4_0"] as const)("packs rings as whole caches, bit for bit (%s)", async (cacheType: CacheType) => {
  const rings = await longRun(decoderOf("gemma3", { cacheType }));
  const whole = await longRun(decoderOf("gemma3", { cacheType, rings: false }));
  expect(rings.logits).toEqual(whole.logits);
  expect(rings.bytes).toBeLessThan(0.8 * whole.bytes);
});

it("is not used where a whole cache is no larger", async () => {
  const { file, path } = files.get("gemma3")!;
  const model = openDecoder(loadAddon(), file, [path], { chunk: CONTEXT, threads: 1, rings: true, prepare: optimised });
  expect(model.compiled).toMatchObject({ rewind: "positions", ring: undefined });
  const short = decoderOf("gemma3");
  expect(short.compiled).toMatchObject({ rewind: "ring", ring: { rows: ROWS, spare: SPARE } });
  short.dispose();
  model.dispose();
});

describe("a session", () => {
  let model: DecoderModel;
  beforeAll(() => (model = decoderOf("gpt-oss")));
  afterAll(() => model.dispose());
  const open = (): DecoderSession => model.open({ context: CONTEXT });

  async function fresh(tokens: readonly number[]): Promise<Float32Array> {
    const session = open();
    await session.feed(tokens.slice(0, -1));
    const logits = await last(session, tokens.at(-1)!);
    session.dispose();
    return logits;
  }
  /** What was kept of the session, and whether it then goes on as one from nothing. */
  async function goesOn(session: DecoderSession, tokens: readonly number[]): Promise<number> {
    const kept = session.reuse(tokens);
    if (tokens.length - kept > 1) await session.feed(tokens.slice(kept, -1));
    // Parts of a prompt are cut elsewhere, and so are sums.
    expect(gap(await last(session, tokens.at(-1)!), await fresh(tokens))).toBeLessThan(1e-3);
    return kept;
  }

  it("goes back as far as nothing was written over", async () => {
    const session = open();
    const prompt = text(600);
    await session.feed(prompt);
    // Within what is spare, and just there.
    expect(await goesOn(session, [...prompt.slice(0, 590), 1, 2, 3])).toBe(590);
    await session.feed(text(600 - session.past, 3));
    expect(session.past).toBe(600);
    const edge = [...session.tokens.slice(0, 600 - SPARE), 9, 8];
    expect(await goesOn(session, edge)).toBe(600 - SPARE);
    session.dispose();
  });

  it("goes anywhere before the first turn", async () => {
    const session = open();
    const prompt = text(ROWS);
    await session.feed(prompt, { checkpoint: false });
    for (const count of [200, 100, 3]) expect(await goesOn(session, [...prompt.slice(0, count), 77, 78])).toBe(count);
    session.dispose();
  });

  it("goes further back by the copy before the last token of a prompt, and says what ran again", async () => {
    const session = open();
    const prompt = text(300);
    const words = {
      endings: new Set<number>(),
      detokenizer: () => ({ push: String, open: () => false, flush: () => "" }),
    };
    const ends = async (tokens: readonly number[]): Promise<GenerateEvent & { readonly kind: "done" }> => {
      const options = { prompt: tokens, sampling: GREEDY, maxTokens: 400 };
      for await (const event of generate(session, words, options)) if (event.kind === "done") return event;
      throw new Error("no end");
    };
    const first = await ends(prompt);
    expect(first.stats.generated).toBe(400);
    // The same again: the copy.
    const again = await ends(prompt);
    expect(again.stats).toMatchObject({ promptTokens: 300, reusedTokens: 299 });
    // Before it, as far as its own rings go back.
    expect((await ends([...prompt.slice(0, 250), 1, 2, 3])).stats).toMatchObject({ reusedTokens: 250 });
    // Behind that: all of it.
    const anew = await ends([...prompt.slice(0, 20), 1, 2, 3]);
    expect(anew.stats).toMatchObject({
      reusedTokens: 0,
      recomputed: { tokens: 20, because: "layers with a window keep the newest positions only" },
    });
    expect(gap(await last(session, 4), await fresh([...session.tokens.slice(0, -1), 4]))).toBeLessThan(1e-3);
    session.dispose();
  });

  it("forgets what was cut off, and a truncation behind its rows", async () => {
    const session = open();
    const prompt = text(700);
    await session.feed(prompt.slice(0, 400), { checkpoint: false });
    const stop = new AbortController();
    const cut = session.feed(prompt.slice(400), {
      checkpoint: false,
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    await expect(cut).rejects.toMatchObject({ code: "CANCELLED" });
    expect(session.past).toBeLessThan(700);
    await goesOn(session, [...prompt.slice(0, session.past), 4, 5]);
    session.truncate(20);
    expect(gap(await last(session, 11), await fresh([...prompt.slice(0, 20), 11]))).toBeLessThan(1e-3);
    session.dispose();
  });

  it("is forked, saved and loaded, and then knows how far it can go", async () => {
    const session = open();
    const prompt = text(600);
    await session.feed(prompt);
    for (const token of [1, 2, 3]) await session.feed([token]);
    const fork = await session.fork();
    const place = { engine: "1.2.3", device: "cpu", cacheType: "f16" };
    const { file, path } = files.get("gpt-oss")!;
    const cache = `${path}.rlxcache`;
    await savePromptCache(promptCacheFiles, cache, { file, session, place });
    const loaded = model.open({ context: 1024 });
    await loadPromptCache(promptCacheFiles, cache, { file, session: loaded, place });
    const wanted = await last(session, 30);
    for (const each of [fork, loaded]) expect(await last(each, 30)).toEqual(wanted);
    // The copy before the prompt's last token came along.
    for (const each of [fork, loaded]) {
      // By forgetting, by the copy as far as its rings go back, and by neither.
      expect(await goesOn(each, [...prompt, 50, 51])).toBe(600);
      await each.feed(text(400, 3), { checkpoint: false });
      const far = [...prompt.slice(0, 599 - SPARE), 50, 51];
      expect(await goesOn(each, far)).toBe(599 - SPARE);
      await each.feed(text(400, 3), { checkpoint: false });
      expect(await goesOn(each, far.slice(0, -10))).toBe(0);
    }
    for (const each of [session, fork, loaded]) each.dispose();
  });

  it("loads what was saved with fewer or more rows", async () => {
    const { file, path } = files.get("gpt-oss")!;
    const place = { engine: "1.2.3", device: "cpu", cacheType: "f16" };
    const [large, small, tiny] = [open(), model.open({ context: 200 }), model.open({ context: 150 })];
    const prompt = text(120);
    const wanted = await fresh([...prompt, 30]);
    for (const [from, to] of [
      [large, small],
      [small, tiny],
      [tiny, large],
    ] as const) {
      from.truncate(0);
      await from.feed(prompt);
      const cache = `${path}.${from.facts.capacity}.rlxcache`;
      await savePromptCache(promptCacheFiles, cache, { file, session: from, place });
      const { bytes } = await loadPromptCache(promptCacheFiles, cache, { file, session: to, place });
      // Of each layer's caches as many rows as there are tokens; the copy before the last of them comes with large rings only.
      expect(bytes).toBe(to.savedBytes(120) + (from === large ? from.checkpointBytes(119) : 0));
      expect(to.checkpoints).toHaveLength(0);
      expect(gap(await last(to, 30), wanted)).toBeLessThan(1e-3);
      to.truncate(120);
      expect(await goesOn(to, [...prompt.slice(0, 110), 1, 2])).toBeLessThanOrEqual(110);
    }
    for (const each of [large, small, tiny]) each.dispose();
  });

  it("refuses what was saved of whole caches, and the other way round", async () => {
    const { file, path } = files.get("gpt-oss")!;
    const place = { engine: "1.2.3", device: "cpu", cacheType: "f16" };
    const without = decoderOf("gpt-oss", { rings: false });
    const [rings, whole] = [open(), without.open({ context: CONTEXT })];
    for (const [from, to] of [
      [rings, whole],
      [whole, rings],
    ] as const) {
      await from.feed(text(20));
      const cache = `${path}.${from.facts.rewind}.rlxcache`;
      await savePromptCache(promptCacheFiles, cache, { file, session: from, place });
      const loading = loadPromptCache(promptCacheFiles, cache, { file, session: to, place });
      await expect(loading).rejects.toMatchObject({ code: "INPUT_CHANGED" });
    }
    for (const each of [rings, whole, without]) each.dispose();
  });

  it("does not trust rows of a copy that later tokens were written over", async () => {
    const session = open();
    await session.feed(text(600), { checkpoint: false });
    session.truncate(600 - SPARE + 10);
    const fork = await session.fork();
    const loaded = open();
    await loaded.restore(await session.save());
    const other = [...fork.tokens.slice(0, -20), 1, 2];
    for (const each of [session, fork, loaded]) expect(await goesOn(each, other)).toBe(0);
    for (const each of [session, fork, loaded]) each.dispose();
  });

  it("draws beside another of its plan", async () => {
    const draw = async (prompt: readonly number[]): Promise<readonly number[]> => {
      const session = open();
      const sample = { ...GREEDY, recent: new Int32Array(0), seed: 0, alternatives: 0 };
      const first = await session.feed(prompt, { sample: { ...sample, step: 0 } });
      const drawn: number[] = [];
      const options = { count: 320, sampling: (_: unknown, step: number) => ({ ...sample, step }) };
      for await (const { id } of session.draw(first!.id, options)) drawn.push(id);
      session.dispose();
      return drawn;
    };
    const prompts = [text(250), text(100, 3), text(300, 11)];
    const together = await Promise.all(prompts.map(draw));
    for (const [i, prompt] of prompts.entries()) expect(together[i]).toEqual(await draw(prompt));
  });
});
