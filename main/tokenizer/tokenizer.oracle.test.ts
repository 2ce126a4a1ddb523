/** The same ids as llama.cpp: on its own test pairs elsewhere, here on thousands of generated texts per vocabulary. */
import { afterAll, describe, expect, it } from "vitest";
import { boolEntry, numberEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { llamaEndings, llamaForget, llamaInfo, llamaMissing, llamaPieces, llamaTokenize } from "../testing/llama.ts";
import { seededRandom } from "../testing/random.ts";
import { sharedFile, sharedFileMissing } from "../testing/sharedData.ts";
import { VocabularyFolder, hardText, openShared } from "../testing/vocabulary.ts";
import { PRE_TOKENIZER_NAMES } from "./pretokenizers.ts";
import { createTokenizer } from "./tokenizer.ts";

const SHARED = ["vocab/llama-spm.gguf", "vocab/gpt-2.gguf", "vocab/deepseek-coder.gguf"] as const;
const GPT2 = SHARED[1];
const missing = llamaMissing() !== undefined || SHARED.some((name) => sharedFileMissing(name));
const folder = new VocabularyFolder();
afterAll(async () => {
  if (missing) return;
  await llamaForget();
  await folder.done();
});

const pre = (name: string) => ({ "tokenizer.ggml.pre": stringEntry("tokenizer.ggml.pre", name) });

async function expectSameIds(path: string, file: GgufFile, count: number, seed: number): Promise<void> {
  const tokenizer = createTokenizer(file);
  const random = seededRandom(seed);
  const specials = Array.from({ length: tokenizer.size }, (_, id) => id)
    .filter((id) => tokenizer.tokenKind(id) === "control" || tokenizer.tokenKind(id) === "user")
    .map((id) => tokenizer.tokenText(id));
  const texts = Array.from({ length: count }, () => hardText(random, specials));
  for (const parseSpecial of [true, false])
    for (const addSpecial of [true, false]) {
      const expected = await llamaTokenize(path, texts, { parseSpecial, addSpecial });
      texts.forEach((text, i) => {
        const got = tokenizer.encode(text, { parseSpecial, addSpecial });
        if (got.join() !== expected[i]!.join())
          throw new Error(
            `${JSON.stringify(text)} (special ${parseSpecial}): got ${got.join()}, llama.cpp gives ${expected[i]!.join()}`,
          );
      });
    }
}

describe.skipIf(missing)("the same ids as llama.cpp", () => {
  it.each(SHARED)("%s, 2 000 texts", async (name) => {
    await expectSameIds(sharedFile(name), await openShared(name), 2000, 1);
  });

  it.each(["llama-bpe", "qwen2", "smollm", "default"])("gpt-2 cut by %s, 2 000 texts", async (name) => {
    const { path, file } = await folder.variant(await openShared(GPT2), `${name}.gguf`, pre(name));
    await expectSameIds(path, file, 2000, 2);
  });

  it.each(PRE_TOKENIZER_NAMES)("gpt-2 cut by %s, 250 texts", async (name) => {
    const { path, file } = await folder.variant(await openShared(GPT2), `${name}.gguf`, pre(name));
    await expectSameIds(path, file, 250, 3);
  });

  it("without a pre-tokenizer, with a warning", async () => {
    const { path, file } = await folder.variant(await openShared(GPT2), "none.gguf", {
      "tokenizer.ggml.pre": undefined,
    });
    await expectSameIds(path, file, 200, 4);
    expect(createTokenizer(file).warnings).toHaveLength(1);
  });

  it("follows the flags for BOS, EOS and the space in front", async () => {
    for (const flag of [true, false]) {
      const { path, file } = await folder.variant(await openShared(SHARED[0]), `flags-${flag}.gguf`, {
        "tokenizer.ggml.add_bos_token": boolEntry("tokenizer.ggml.add_bos_token", flag),
        "tokenizer.ggml.add_eos_token": boolEntry("tokenizer.ggml.add_eos_token", !flag),
        "tokenizer.ggml.add_space_prefix": boolEntry("tokenizer.ggml.add_space_prefix", flag),
      });
      await expectSameIds(path, file, 200, 5);
    }
  });

  it("takes every single code point, alone and between letters", async () => {
    const texts: string[] = [];
    for (let start = 0; start < 0x110000; start += 64) {
      const points = Array.from({ length: 64 }, (_, i) => start + i).filter((p) => p > 0 && (p < 0xd800 || p > 0xdfff));
      texts.push(points.map((p) => `a${String.fromCodePoint(p)}b `).join(""));
    }
    const { path, file } = await folder.variant(await openShared(GPT2), "points.gguf", pre("default"));
    const tokenizer = createTokenizer(file);
    const expected = await llamaTokenize(path, texts, { addSpecial: false, parseSpecial: false });
    texts.forEach((text, i) => {
      const got = tokenizer.encode(text, { addSpecial: false, parseSpecial: false });
      if (got.join() !== expected[i]!.join()) throw new Error(`code points from ${(i * 64).toString(16)}`);
    });
  });
});

describe.skipIf(missing)("tokens, one by one", () => {
  it.each(SHARED)("%s: the same bytes", async (name) => {
    const tokenizer = createTokenizer(await openShared(name));
    const ids = Array.from({ length: tokenizer.size }, (_, id) => id);
    for (const special of [true, false]) {
      const expected = await llamaPieces(sharedFile(name), ids, special);
      for (const id of ids)
        if (Buffer.compare(tokenizer.pieceBytes(id, special), expected[id]!) !== 0)
          throw new Error(`token ${id} ${JSON.stringify(tokenizer.tokenText(id))}, special ${special}`);
    }
  });

  it.each(SHARED)("%s: the same special ones and the same ends", async (name) => {
    const tokenizer = createTokenizer(await openShared(name));
    const info = await llamaInfo(sharedFile(name), true);
    expect([tokenizer.bos, tokenizer.eos, tokenizer.addBos, tokenizer.addEos, tokenizer.size]).toEqual([
      info.bos,
      info.eos,
      info.addBos,
      info.addEos,
      info.vocabSize,
    ]);
    expect([...tokenizer.endings].toSorted((a, b) => a - b)).toEqual(await llamaEndings(sharedFile(name)));
  });

  it("the same ends for every text that may be one", async () => {
    const file = await openShared(GPT2);
    const original = file.metadata.strings("tokenizer.ggml.tokens");
    // One file for each group, so that texts of one group do not hide each other.
    const groups = [
      ["<|eot_id|>", "<|eom_id|>", "<|fim_pad|>", "<|fim_repo|>", "<|file_sep|>", "<|fim_prefix|>", "<eot>"],
      ["<|im_end|>", "<|end|>", "[PAD]", "<reponame>", "<PRE>", "<|user|>"],
      ["<|end|>", "<|return|>", "<|call|>", "<|channel|>", "<PAD>", "<REPO>", "▁<PRE>"],
      ["<end_of_turn>", "</s>", "[EOS]", "<fim-pad>", "<|flush|>"],
      ["<｜end▁of▁sentence｜>", "<｜fim▁hole｜>"],
      [
        "<eos>",
        "<turn|>",
        "[e~[",
        "<|tool_response>",
        "_<EOT>",
        "<EOT>",
        "[EOT]",
        "<|end_of_text|>",
        "<end_of_utterance>",
        "<|calls|>",
      ],
    ];
    for (const [number, group] of groups.entries()) {
      const texts: (string | Uint8Array)[] = Array.from({ length: original.length }, (_, i) => original.bytesAt(i));
      group.forEach((text, i) => (texts[40_000 + i] = text));
      const { path, file: changed } = await folder.variant(file, `endings-${number}.gguf`, {
        "tokenizer.ggml.tokens": stringsEntry("tokenizer.ggml.tokens", texts),
        "tokenizer.ggml.eos_token_id": numberEntry("tokenizer.ggml.eos_token_id", "u32", 5),
      });
      const tokenizer = createTokenizer(changed);
      expect([...tokenizer.endings].toSorted((a, b) => a - b)).toEqual(await llamaEndings(path));
      const sample = group.map((text) => `a${text}b`);
      for (const parseSpecial of [true, false]) {
        const expected = await llamaTokenize(path, sample, { parseSpecial });
        expect(sample.map((text) => tokenizer.encode(text, { parseSpecial }))).toEqual(expected);
      }
    }
  });
});
