// Prompt caches of every kind of state on the CPU engine: what was loaded goes on as the session that was saved, bit for bit,
// and files that lie are refused before they touch a session.
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toWireError } from "../diagnostics/errors.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { deepseek4 } from "../models/families/deepseek4.ts";
import { falconH1 } from "../models/families/falconH1.ts";
import { lfm2 } from "../models/families/lfm2.ts";
import { mamba } from "../models/families/mamba.ts";
import { qwen35 } from "../models/families/qwen35.ts";
import { rwkv7 } from "../models/families/rwkv7.ts";
import type { Family } from "../models/family.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { promptCacheFiles } from "../node/files/promptCacheFiles.ts";
import { loadAddon } from "../node/native/addon.ts";
import { optimised } from "../testing/decoderRuns.ts";
import { seededRandom } from "../testing/random.ts";
import { writeTinyGguf } from "../testing/tinyGguf.ts";
import { writePlainToy } from "../testing/toyFiles.ts";
import type { DecoderModel } from "./decoderModel.ts";
import type { DecoderSession } from "./decoderSession.ts";
import { openDecoder } from "./devices/cpu.ts";
import type { PromptCachePlace } from "./promptCache.ts";
import { loadPromptCache, savePromptCache } from "./promptCache.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-prompt-cache-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PROMPT = Array.from({ length: 21 }, (_, i) => (i * 37 + 5) % 251);
const PLACE: PromptCachePlace = { engine: "1.2.3", device: "cpu", cacheType: "f16" };

const decoderOf = (file: GgufFile, path: string): DecoderModel =>
  openDecoder(loadAddon(), file, [path], { cacheType: "f16", chunk: 16, threads: 2, prepare: optimised });
const openFile = async (path: string): Promise<GgufFile> => openGguf(await openFileSource(path));
const bits = async (session: DecoderSession, token: number): Promise<readonly number[]> => [
  ...new Uint32Array((await session.logits([token], [0])).buffer),
];

const FAMILIES: readonly (readonly [string, Family | undefined])[] = [
  ["qwen3, caches alone", undefined],
  ["lfm2", lfm2],
  ["qwen35, delta nets", qwen35],
  ["mamba", mamba],
  ["falcon-h1", falconH1],
  ["rwkv7", rwkv7],
  ["deepseek4", deepseek4],
];

describe.each(FAMILIES)("%s", (name, family) => {
  it("goes on as the session that was saved, bit for bit, and goes back as far", async () => {
    const path = join(folder, `${name.split(",")[0] ?? ""}.gguf`);
    if (family === undefined) await writeTinyGguf(path);
    else await writePlainToy(path, family, family.samples[0]!);
    const file = await openFile(path);
    const saving = decoderOf(file, path);
    const session = saving.open({ context: 64 });
    await session.feed(PROMPT);
    await session.feed([7, 8, 9]);
    const cache = `${path}.rlxcache`;
    const { tokens } = await savePromptCache(promptCacheFiles, cache, { file, session, place: PLACE });
    expect(tokens).toBe(PROMPT.length + 3);

    // Another decoder, another context: nothing is shared but the file.
    const loading = decoderOf(file, path);
    const loaded = loading.open({ context: 48 });
    await loaded.feed([1, 2, 3]);
    await loadPromptCache(promptCacheFiles, cache, { file, session: loaded, place: PLACE });
    expect(loaded.tokens).toEqual(session.tokens);
    expect(await bits(loaded, 30)).toEqual(await bits(session, 30));
    const other = [...PROMPT, 50, 51];
    const kept = session.reuse(other);
    expect(kept).toBeGreaterThan(0);
    expect(loaded.reuse(other)).toBe(kept);
    for (const each of [session, loaded]) await each.feed(other.slice(kept, -1));
    const wanted = await bits(session, 51);
    expect(await bits(loaded, 51)).toEqual(wanted);
    // The test can tell.
    expect(await bits(loaded, 52)).not.toEqual(wanted);
    for (const each of [session, loaded, saving, loading]) each.dispose();
    await file.close();
  });
});

describe("a file that is not what it should be", () => {
  const path = join(folder, "model.gguf");
  const cache = join(folder, "good.rlxcache");
  let file: GgufFile;
  let decoder: DecoderModel;
  let session: DecoderSession;
  beforeAll(async () => {
    await writeTinyGguf(path);
    file = await openFile(path);
    decoder = decoderOf(file, path);
    session = decoder.open({ context: 64 });
    await session.feed(PROMPT);
    await savePromptCache(promptCacheFiles, cache, { file, session, place: PLACE });
  });
  afterAll(async () => {
    decoder.dispose();
    await file.close();
  });

  const refusal = async (from: string, into: Partial<Parameters<typeof loadPromptCache>[2]> = {}) => {
    const target = into.session ?? decoder.open({ context: 64 });
    await target.feed([5, 6]);
    const before = [...target.tokens];
    try {
      await loadPromptCache(promptCacheFiles, from, { file, place: PLACE, ...into, session: target });
      return "loaded";
    } catch (error) {
      // What it held is as it was.
      expect(target.tokens).toEqual(before);
      const { code, message, hint } = toWireError(error);
      expect(hint).toBeTruthy();
      return `${code} ${message}`;
    } finally {
      target.dispose();
    }
  };
  const changed = (name: string, change: (bytes: Buffer) => Buffer): string => {
    const to = join(folder, name);
    writeFileSync(to, change(readFileSync(cache)));
    return to;
  };
  /** Another head, with the right checksum: a file that somebody made. */
  const forged = (change: (head: Record<string, unknown>) => Record<string, unknown>): string =>
    changed("forged.rlxcache", (bytes) => {
      const length = bytes.readUInt32LE(12);
      const head = JSON.parse(bytes.subarray(48, 48 + length).toString()) as Record<string, unknown>;
      const rest = Buffer.concat([Buffer.from(JSON.stringify(change(head))), bytes.subarray(48 + length)]);
      const front = Buffer.from(bytes.subarray(0, 48));
      front.writeUInt32LE(rest.length - (bytes.length - 48 - length), 12);
      createHash("sha256").update(rest).digest().copy(front, 16);
      return Buffer.concat([front, rest]);
    });

  it("is the cache of another model, also of one with the same header", async () => {
    const other = join(folder, "other.gguf");
    await writeTinyGguf(other, { layers: 3 });
    const tuned = join(folder, "tuned.gguf");
    const bytes = readFileSync(path);
    bytes.writeFloatLE(0.25, bytes.length - 4);
    writeFileSync(tuned, bytes);
    for (const each of [other, tuned]) {
      const opened = await openFile(each);
      expect(await refusal(cache, { file: opened })).toMatch(/^INPUT_CHANGED .*another model: got "model.gguf"/);
      await opened.close();
    }
  });

  it("is of another version, device or type, or does not fit the context", async () => {
    expect(await refusal(cache, { place: { ...PLACE, engine: "2" } })).toMatch(/version of the engine: got "1.2.3"/);
    expect(await refusal(cache, { place: { ...PLACE, device: "mlx" } })).toMatch(/device: got "cpu", expected "mlx"/);
    expect(await refusal(cache, { place: { ...PLACE, cacheType: "f32" } })).toMatch(/type of keys and values/);
    expect(await refusal(cache, { session: decoder.open({ context: 16 }) })).toMatch(
      /^RUN_CONTEXT_FULL .*got 21 tokens, expected at most 16/,
    );
    expect(await refusal(changed("form", (bytes) => (bytes.writeUInt32LE(2, 8), bytes)))).toMatch(/form of the file/);
  });

  it("lies with the right checksum", async () => {
    const model = { name: "x", headerHash: file.headerHash, bytes: file.byteLength };
    for (const [change, words] of [
      [{ tokens: 20 }, /expected/],
      [{ tokens: 1e15 }, /RUN_CONTEXT_FULL/],
      [{ tokens: -1 }, /no whole number/],
      [{ text: 1 }, /a text of 1 tokens/],
      [{ checkpoints: [{ past: 3, bytes: 8 }] }, /copies of states/],
      [{ checkpoints: "x" }, /no list/],
      [{ model }, /weights is no text/],
      [{ model: null }, /no object/],
      [{ engine: 7 }, /no text/],
    ] as const)
      expect(await refusal(forged((head) => ({ ...head, ...change })))).toMatch(words);
    // A token that the vocabulary has not: the counts fit.
    const outside = changed("outside.rlxcache", (bytes) => {
      const length = bytes.readUInt32LE(12);
      bytes.writeInt32LE(2_000_000_000, 48 + length + 4);
      createHash("sha256").update(bytes.subarray(48)).digest().copy(bytes, 16);
      return bytes;
    });
    expect(await refusal(outside)).toMatch(/^INPUT_MALFORMED .*token 2000000000 is none of/);
    expect(await refusal(forged((head) => head))).toBe("loaded");
  });

  it("is cut off, changed anywhere, or another file", async () => {
    const size = readFileSync(cache).length;
    const random = seededRandom(7);
    for (const length of [0, 7, 47, 60, size - 1]) {
      const cut = changed("cut.rlxcache", (bytes) => bytes);
      truncateSync(cut, length);
      expect(await refusal(cut)).toMatch(/^INPUT_(?:MALFORMED|ARGUMENT) /);
    }
    for (let round = 0; round < 60; round++) {
      const at = random.integer(round < 30 ? 400 : size);
      const bad = changed("bad.rlxcache", (bytes) => ((bytes[at] = (bytes[at] ?? 0) ^ (1 << (round % 8))), bytes));
      expect(await refusal(bad), `byte ${at}`).toMatch(/^(?:INPUT_|RUN_CONTEXT_FULL)/);
    }
    expect(await refusal(path)).toMatch(/another kind of file, expected a prompt cache/);
    expect(await refusal(join(folder, "none.rlxcache"))).toMatch(/^INPUT_NOT_FOUND/);
    expect(await refusal(folder)).toMatch(/^INPUT_UNREADABLE/);
  });

  it("is never written over unless it is a prompt cache, and nothing half written stays", async () => {
    const save = async (to: string, overwrite: boolean, signal?: AbortSignal): Promise<string> => {
      try {
        await savePromptCache(promptCacheFiles, to, { file, session, place: PLACE }, { overwrite, signal });
        return "saved";
      } catch (error) {
        return toWireError(error).message;
      }
    };
    expect(await save(cache, false)).toMatch(/exists already/);
    expect(await save(path, true)).toMatch(/is there and is no prompt cache/);
    expect(await save(join(folder, "no", "x.rlxcache"), true)).toMatch(/does not exist/);
    expect(await save(join(folder, "new.rlxcache"), false, AbortSignal.abort())).not.toBe("saved");
    expect(await save(cache, true)).toBe("saved");
    expect(readdirSync(folder).filter((name) => name.includes(".part") || name.startsWith("new"))).toEqual([]);
    expect(await save(cache, true)).toBe("saved");
    const empty = decoder.open({ context: 64 });
    await expect(
      savePromptCache(promptCacheFiles, cache, { file, session: empty, place: PLACE }, { overwrite: true }),
    ).rejects.toThrow(/a session without tokens/);
    empty.dispose();
  });
});
