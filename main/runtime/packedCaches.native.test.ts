// Packed keys and values on the CPU engine: how far logits are from those of f16, what the caches take, and that sessions go
// back, are saved and go on as others do.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { chatSupport, encodeRendered } from "../chatTemplate/chatTemplate.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openGguf } from "../formats/gguf/open.ts";
import type { CacheType } from "../models/blocks.ts";
import { rwkv7 } from "../models/families/rwkv7.ts";
import { seed_oss } from "../models/families/seed_oss.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { promptCacheFiles } from "../node/files/promptCacheFiles.ts";
import { loadAddon } from "../node/native/addon.ts";
import { optimised } from "../testing/decoderRuns.ts";
import { repositoryRoot } from "../testing/oracleProcess.ts";
import { writePlainToy } from "../testing/toyFiles.ts";
import { createTokenizer } from "../tokenizer/tokenizer.ts";
import type { DecoderModel } from "./decoderModel.ts";
import { openDecoder } from "./devices/cpu.ts";
import { openReference } from "./devices/reference.ts";
import { loadPromptCache, savePromptCache } from "./promptCache.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-packed-caches-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PROMPT = Array.from({ length: 40 }, (_, i) => (i * 37 + 5) % 251);
// Heads of 32 numbers, and of fewer.
const wide = seed_oss.samples.find(({ title }) => title.startsWith("heads wider"));
const narrow = seed_oss.samples[0];

const path = join(folder, "wide.gguf");
let file: GgufFile;
beforeAll(async () => {
  await writePlainToy(path, seed_oss, wide!);
  file = await openGguf(await openFileSource(path));
});
afterAll(() => file.close());

const decoderOf = (cacheType: CacheType): DecoderModel =>
  openDecoder(loadAddon(), file, [path], { cacheType, chunk: 16, threads: 2, prepare: optimised });

/** Logits behind the prompt, and behind three more tokens one by one. */
async function logitsOf(cacheType: CacheType): Promise<{ readonly logits: Float32Array; readonly bytes: number }> {
  const decoder = decoderOf(cacheType);
  const session = decoder.open({ context: 64 });
  await session.feed(PROMPT);
  for (const token of [7, 8]) await session.feed([token]);
  const logits = await session.logits([9], [0]);
  const bytes = session.cacheBytes;
  session.dispose();
  decoder.dispose();
  return { logits, bytes };
}

/** So many of the held-out questions with their answers, as one conversation in the sample's template. */
function heldOut(trained: GgufFile, count: number): Int32Array {
  const text = readFileSync(join(repositoryRoot, "assets/models/held-out.json"), "utf8");
  const questions = (JSON.parse(text) as { prompt: string; answer: string }[]).slice(0, count);
  const tokenizer = createTokenizer(trained);
  const support = chatSupport(trained, tokenizer);
  if (support.kind === "none") throw new Error(support.sentence);
  const messages = questions.flatMap(({ prompt, answer }) => [
    { role: "user" as const, content: prompt },
    { role: "assistant" as const, content: answer },
  ]);
  return Int32Array.from(encodeRendered(tokenizer, support.template.render(messages)));
}

const rms = (x: ArrayLike<number>): number => Math.sqrt(Array.from(x).reduce((sum, v) => sum + v * v, 0) / x.length);
const away = (a: Float32Array, b: Float32Array): number => rms(a.map((v, i) => v - (b[i] ?? NaN))) / rms(b);

it("takes 34 and 18 bytes for 32 numbers, and stays near f16", async () => {
  const plain = await logitsOf("f16");
  const eight = await logitsOf("q8_0");
  const four = await logitsOf("q4_0");
  expect(eight.bytes / plain.bytes).toBeCloseTo(34 / 64, 2);
  expect(four.bytes / plain.bytes).toBeCloseTo(18 / 64, 2);
  // Of random weights, whose attention is sharp: a cache's own errors are about 0.5 % and 8 %.
  const [fine, coarse] = [away(eight.logits, plain.logits), away(four.logits, plain.logits)];
  expect(fine).toBeLessThan(0.02);
  // The steps between codes are 127 / 8 times as large.
  expect(coarse / fine).toBeGreaterThan(127 / 8 / 2);
  expect(coarse / fine).toBeLessThan((127 / 8) * 2);
});

it.each(["q8_0", "q4_0"] as const)("%s: equals the reference over the same caches", async (cacheType) => {
  const reference = await openReference(file, { cacheType });
  const session = reference.open({ context: 64 });
  await session.feed(PROMPT);
  for (const token of [7, 8]) await session.feed([token]);
  const { logits } = await logitsOf(cacheType);
  // A number at the edge of two codes may fall to either side.
  expect(away(logits, await session.logits([9], [0]))).toBeLessThan(cacheType === "q8_0" ? 0.002 : 0.02);
  session.dispose();
});

it.each(["q8_0", "q4_0"] as const)("%s: goes back, is saved and goes on with the same bits", async (cacheType) => {
  const decoder = decoderOf(cacheType);
  const [session, again, loaded] = [
    decoder.open({ context: 64 }),
    decoder.open({ context: 64 }),
    decoder.open({ context: 48 }),
  ];
  await session.feed(PROMPT);
  await session.feed([1, 2, 3]);
  session.truncate(PROMPT.length);
  await again.feed(PROMPT);
  const wanted = await again.logits([9], [0]);
  expect(await session.logits([9], [0])).toEqual(wanted);

  const place = { engine: "1.2.3", device: "cpu", cacheType };
  again.truncate(PROMPT.length);
  const cache = `${path}.${cacheType}`;
  await savePromptCache(promptCacheFiles, cache, { file, session: again, place });
  await loadPromptCache(promptCacheFiles, cache, { file, session: loaded, place });
  expect(await loaded.logits([9], [0])).toEqual(wanted);
  for (const each of [session, again, loaded, decoder]) each.dispose();
});

// Conversations of the trained sample with its held-out questions. Of five such texts, q8_0 was 0.001 to 0.16 % away and
// q4_0 0.4 to 2.5 %; of this one 0.03 % and 1.2 %.
it("keeps the perplexity of f16 within 0.5 % in q8_0, and within 3 % in q4_0", async () => {
  const sample = join(repositoryRoot, "assets/models/rlx-sample.gguf");
  const trained = await openGguf(await openFileSource(sample));
  const tokens = heldOut(trained, 14);
  expect(tokens.length).toBeGreaterThan(400);
  const perplexity = async (cacheType: CacheType): Promise<number> => {
    const how = { cacheType, threads: 1, prepare: optimised };
    const decoder = openDecoder(loadAddon(), trained, [sample], how);
    const session = decoder.open({ context: 512 });
    const known = (await session.score(tokens)).subarray(1);
    session.dispose();
    decoder.dispose();
    return Math.exp(-known.reduce((sum, value) => sum + value, 0) / known.length);
  };
  const plain = await perplexity("f16");
  // One token in 1024 at random would be 1024.
  expect(plain).toBeLessThan(20);
  expect(Math.abs((await perplexity("q8_0")) / plain - 1)).toBeLessThan(0.005);
  expect(Math.abs((await perplexity("q4_0")) / plain - 1)).toBeLessThan(0.03);
  await trained.close();
});

it("refuses heads that are no whole blocks", async () => {
  const other = join(folder, "narrow.gguf");
  await writePlainToy(other, seed_oss, narrow!);
  const small = await openGguf(await openFileSource(other));
  expect(() => openDecoder(loadAddon(), small, [other], { cacheType: "q8_0", threads: 1, prepare: optimised })).toThrow(
    /a q8_0 cache: got heads of \d+ numbers, expected a multiple of 32/,
  );
  await small.close();
});

it("refuses a model in which nothing can be packed", async () => {
  const other = join(folder, "recurrent.gguf");
  await writePlainToy(other, rwkv7, rwkv7.samples[0]!);
  const small = await openGguf(await openFileSource(other));
  expect(() => openDecoder(loadAddon(), small, [other], { cacheType: "q4_0", threads: 1, prepare: optimised })).toThrow(
    /a q4_0 cache: got no layer that attends over plain keys and values, expected one/,
  );
  await small.close();
});
