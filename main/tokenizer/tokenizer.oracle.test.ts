/** The same ids as llama.cpp: on its own test pairs elsewhere, here on thousands of generated texts per vocabulary. */
import { afterAll, describe, expect, it } from "vitest";
import { boolEntry, numberEntry, numbersEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import {
  llamaDetokenize,
  llamaEndings,
  llamaForget,
  llamaInfo,
  llamaMissing,
  llamaPieces,
  llamaSuppressed,
  llamaTokenize,
} from "../testing/llama.ts";
import { seededRandom } from "../testing/random.ts";
import { sharedFile, sharedFileMissing } from "../testing/sharedData.ts";
import {
  characterPairs,
  characterWords,
  dnaTokens,
  escapedTokens,
  everyPair,
  scoredPieces,
  scoredTokens,
  toyCharsmap,
  unigrams,
  wordPieces,
} from "../testing/toyVocabularies.ts";
import { VocabularyFolder, hardText, openShared } from "../testing/vocabulary.ts";
import { PRE_TOKENIZER_NAMES, preTokenizer } from "./pretokenizers.ts";
import { createTokenizer } from "./tokenizer.ts";
import type { EncodeOptions } from "./tokenizer.ts";

const SHARED = ["vocab/llama-spm.gguf", "vocab/gpt-2.gguf", "vocab/deepseek-coder.gguf"] as const;
const GPT2 = SHARED[1];
const missing = llamaMissing() ?? SHARED.map(sharedFileMissing).find((reason) => reason !== undefined);
const folder = new VocabularyFolder();
afterAll(async () => {
  if (missing) return;
  await llamaForget();
  await folder.done();
});

const pre = (name: string) => ({ "tokenizer.ggml.pre": stringEntry("tokenizer.ggml.pre", name) });

const steps = (from: number, to: number, step: number): number[] =>
  Array.from({ length: Math.ceil((to - from) / step) }, (_, i) => from + i * step);

const byteLevel = PRE_TOKENIZER_NAMES.filter((name) => preTokenizer(name).spelling === "bytes");

const pairs = everyPair(seededRandom(7));
const fewPairs = everyPair(seededRandom(7), 64);
const PLAIN = { parseSpecial: false, addSpecial: false };
const ALL_WAYS = [{}, { addSpecial: false }, { parseSpecial: false }, PLAIN];

async function expectSameIds(
  path: string,
  file: GgufFile,
  count: number,
  seed: number,
  ways: readonly EncodeOptions[] = ALL_WAYS,
  textOf = (text: string): string => text,
): Promise<void> {
  const tokenizer = createTokenizer(file);
  const random = seededRandom(seed);
  const specials = Array.from({ length: tokenizer.size }, (_, id) => id)
    .filter((id) => tokenizer.tokenKind(id) === "control" || tokenizer.tokenKind(id) === "user")
    .map((id) => tokenizer.tokenText(id));
  const texts = Array.from({ length: count }, () => textOf(hardText(random, specials)));
  for (const [way, options] of ways.entries()) {
    const some = texts.filter((_, i) => i % ways.length === way);
    const expected = await llamaTokenize(path, some, options);
    some.forEach((text, i) => {
      const got = tokenizer.encode(text, options);
      if (got.join() !== expected[i]!.join())
        throw new Error(
          `${JSON.stringify(text)} (${JSON.stringify(options)}): got ${got.join()}, llama.cpp gives ${expected[i]!.join()}`,
        );
    });
  }
}

describe.skipIf(missing)(`the same ids as llama.cpp ${missing ?? ""}`, () => {
  it.each(SHARED)("%s, 2 000 texts", async (name) => {
    await expectSameIds(sharedFile(name), await openShared(name), 2000, 1);
  });

  it.each(byteLevel)("cut by %s, 2 000 texts", async (name) => {
    const { path, file } = await folder.make(`${name}.gguf`, [...pairs, stringEntry("tokenizer.ggml.pre", name)]);
    await expectSameIds(path, file, 2000, 2, [{}, PLAIN]);
  });

  it.each([
    ["gemma4", undefined],
    ["gpt2", "gemma4"],
    ["gpt2", "granite-embed-multi-311m"],
    ["gpt2", "sarvam-moe"],
    ["whitespace", "whitespace"],
    ["whitespace", "qwen2"],
  ])("merges of characters: %s %s, 2 000 texts", async (model, name) => {
    const more = name === undefined ? [] : [stringEntry("tokenizer.ggml.pre", name)];
    const { path, file } = await folder.make("characters.gguf", characterPairs(model, seededRandom(3), more));
    // llama.cpp ends when this one meets two line ends in a row.
    const textOf = (text: string) => (name === "sarvam-moe" ? text.replaceAll(/\n+/gu, "\n") : text);
    await expectSameIds(path, file, 2000, 4, ALL_WAYS, textOf);
    if (model !== "whitespace") await expectSamePieces(path, file);
  });

  it.each([
    ["as BERT", {}],
    ["with case and accents", { lowercase: false }],
    ["with case", { lowercase: false, strip_accents: true }],
    ["with accents", { strip_accents: false }],
    // Its mask token takes the space before it.
    ["as modern-bert", {}],
  ])("WordPiece %s, 2 000 texts", async (name, normalizer) => {
    const more = [stringEntry("general.name", name), ...flags("normalizer.", normalizer)];
    const { path, file } = await folder.make("words.gguf", wordPieces(seededRandom(5), more));
    await expectSameIds(path, file, 2000, 6);
    await expectSamePieces(path, file);
    await expectSameTexts(path, file);
  });

  it.each([{}, { strip_accents: false }])("WordPiece: every code point as a word, %j", async (normalizer) => {
    const entries = characterWords(
      everyPoint.filter((char) => char !== "\0"),
      flags("normalizer.", normalizer),
    );
    const { path, file } = await folder.make("points.gguf", entries);
    const tokenizer = createTokenizer(file);
    const texts = Array.from({ length: Math.ceil(everyPoint.length / 64) }, (__, i) =>
      everyPoint.slice(i * 64, i * 64 + 64).join(" "),
    );
    const expected = await llamaTokenize(path, texts, PLAIN);
    texts.forEach((text, i) => {
      if (tokenizer.encode(text, PLAIN).join() !== expected[i]!.join()) throw new Error(JSON.stringify(text));
    });
  });

  it.each([
    ["with a character map", {}, [toyCharsmap()]],
    ["with a space in front", { add_space_prefix: true }, [toyCharsmap()]],
    ["with spaces merged", { add_space_prefix: true, remove_extra_whitespaces: true }, [toyCharsmap()]],
    ["with nothing", { remove_extra_whitespaces: false, add_bos_token: true, add_eos_token: false }, []],
  ])("Unigram %s, 2 000 texts", async (_, settings, more) => {
    const entries = unigrams(seededRandom(8), [...flags("", settings), ...more]);
    const { path, file } = await folder.make("unigrams.gguf", entries);
    await expectSameIds(path, file, 2000, 9);
    await expectSamePieces(path, file);
    await expectSameTexts(path, file);
  });

  it.each([17, 18])("SentencePiece with scores by chance, 2 000 texts, seed %i", async (seed) => {
    const settings = flags("", { add_space_prefix: seed === 17 });
    const { path, file } = await folder.make("pieces.gguf", scoredPieces(seededRandom(seed), settings));
    await expectSameIds(path, file, 2000, 14);
    await expectSamePieces(path, file);
    await expectSameTexts(path, file);
  });

  it("more scores and kinds than tokens", async () => {
    const whole = await folder.make("whole.gguf", scoredPieces(seededRandom(19)));
    const key = "tokenizer.ggml.tokens";
    const { path, file } = await folder.variant(whole.file, "more.gguf", {
      [key]: stringsEntry(key, textsOf(whole.file, key).slice(0, -7)),
    });
    await expectSameIds(path, file, 200, 15);
  });

  it("RWKV, 2 000 texts", async () => {
    const { path, file } = await folder.make("rwkv.gguf", escapedTokens(seededRandom(10)));
    await expectSameIds(path, file, 2000, 11);
    await expectSamePieces(path, file);
    await expectSameTexts(path, file);
  });

  it("DNA among words, 2 000 texts", async () => {
    const { path, file } = await folder.make("dna.gguf", dnaTokens(seededRandom(15)));
    const random = seededRandom(16);
    const dna = () => Array.from({ length: random.integer(20) }, () => random.pick([..."ACGTacgtN é"])).join("");
    const textOf = (text: string) => random.pick(["", `<dna>${dna()}</dna>${text}`, `${text}<dna>${dna()}`]) + text;
    await expectSameIds(path, file, 2000, 13, ALL_WAYS, textOf);
    await expectSamePieces(path, file);
  });

  it.each([13, 14])("PLaMo 2, 2 000 texts, seed %i", async (seed) => {
    const { path, file } = await folder.make("plamo2.gguf", scoredTokens(seededRandom(seed)));
    await expectSameIds(path, file, 2000, 12);
    await expectSamePieces(path, file);
    await expectSameTexts(path, file);
  });

  it("without a pre-tokenizer, with a warning", async () => {
    const { path, file } = await folder.variant(await openShared(GPT2), "none.gguf", {
      "tokenizer.ggml.pre": undefined,
    });
    await expectSameIds(path, file, 200, 4);
    expect(createTokenizer(file).warnings).toHaveLength(1);
  });

  it("kimi-k2 without merges", async () => {
    const { path, file } = await folder.variant(await openShared(GPT2), "kimi.gguf", {
      ...pre("kimi-k2"),
      "tokenizer.ggml.merges": undefined,
    });
    await expectSameIds(path, file, 200, 4);
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

  it.each(["kimi-k2", "afmoe", "deepseek-coder", "deepseek-llm", "viking"])(
    "gpt-2 cut by %s: every code point of two planes, the tags and selectors and some of the others, among letters, signs and spaces",
    async (name) => {
      const texts = Array.from({ length: Math.ceil(everyPoint.length / 64) }, (_, i) =>
        everyPoint
          .slice(i * 64, i * 64 + 64)
          .map(surrounded)
          .join(""),
      );
      const { path, file } = await folder.variant(await openShared(GPT2), `points-${name}.gguf`, {
        ...pre(name),
        ...joiningEntries(await openShared(GPT2)),
      });
      const tokenizer = createTokenizer(file);
      const expected = await llamaTokenize(path, texts, { addSpecial: false, parseSpecial: false });
      texts.forEach((text, i) => {
        const got = tokenizer.encode(text, { addSpecial: false, parseSpecial: false });
        if (got.join() !== expected[i]!.join())
          throw new Error(`code points from ${everyPoint[i * 64]?.codePointAt(0)?.toString(16)}`);
      });
    },
  );
});

/** What a text becomes when its tokens are put together again. */
async function expectSameTexts(path: string, file: GgufFile): Promise<void> {
  const tokenizer = createTokenizer(file);
  const random = seededRandom(12);
  for (let i = 0; i < 300; i++) {
    const ids = [...tokenizer.encode(hardText(random), PLAIN)];
    const expected = new TextDecoder("utf-8", { ignoreBOM: true }).decode(await llamaDetokenize(path, ids));
    expect(tokenizer.decode(ids, { special: true, cleanSpaces: true })).toBe(expected);
    const stream = tokenizer.detokenizer({ special: true });
    const streamed = ids.map((id) => stream.push(id)).join("") + stream.flush();
    expect(streamed).toBe(tokenizer.decode(ids, { special: true, dropPrefix: false, cleanSpaces: false }));
  }
}

const flags = (prefix: string, values: Readonly<Record<string, boolean>>): MetadataEntry[] =>
  Object.entries(values).map(([name, value]) => boolEntry(`tokenizer.ggml.${prefix}${name}`, value));

/**
 * The first two planes and some of the others: from plane 2 on come ideographs, private and
 * unassigned points, of which some speak for all, and the tags and variation selectors of plane 14.
 */
const everyPoint = [
  ...new Set([...steps(1, 0x20000, 1), ...steps(0xe0000, 0xe0200, 1), ...steps(0x20000, 0x110000, 61)]),
]
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point));

async function expectSameAdded(path: string, file: GgufFile): Promise<void> {
  const tokenizer = createTokenizer(file);
  const info = await llamaInfo(path, true);
  expect({
    bos: tokenizer.bos ?? -1,
    eos: tokenizer.eos ?? -1,
    separator: tokenizer.separator ?? -1,
    addBos: tokenizer.addBos,
    addEos: tokenizer.addEos,
    addSep: tokenizer.addSep,
    vocabSize: tokenizer.size,
  }).toEqual({
    bos: info.bos,
    eos: info.eos,
    separator: info.separator,
    addBos: info.addBos,
    addEos: info.addEos,
    addSep: info.addSep,
    vocabSize: info.vocabSize,
  });
}

async function expectSamePieces(path: string, file: GgufFile): Promise<void> {
  const tokenizer = createTokenizer(file);
  const ids = Array.from({ length: tokenizer.size }, (_, id) => id);
  for (const special of [true, false]) {
    const expected = await llamaPieces(path, ids, special);
    for (const id of ids)
      if (Buffer.compare(tokenizer.pieceBytes(id, special), expected[id]!) !== 0)
        throw new Error(`token ${id} ${JSON.stringify(tokenizer.tokenText(id))}, special ${special}`);
  }
}

/** Behind ©, which no pattern names, one sees where the space before a letter goes. */
const surrounded = (point: string): string => `a${point}b !${point}! ${point}0${point}é${point}© ${point}`;

function textsOf(file: GgufFile, key: string): string[] {
  const table = file.metadata.strings(key);
  return Array.from({ length: table.length }, (_, i) => table.textAt(i));
}

/**
 * A vocabulary in which letters, signs, digits and spaces join the first byte of whatever follows,
 * so that every cut shows.
 */
function joiningEntries(file: GgufFile): Record<string, MetadataEntry> {
  const tokens = textsOf(file, "tokenizer.ggml.tokens");
  const merges = textsOf(file, "tokenizer.ggml.merges");
  const known = new Set(tokens);
  // The lead bytes of UTF-8 beyond ASCII stand for themselves in byte-level vocabularies.
  const leads = Array.from({ length: 0xf5 - 0xc2 }, (_, i) => String.fromCodePoint(0xc2 + i));
  // é and © end in the bytes A9.
  const joined = ["a", "!", "0", "Ġ", "©"].flatMap((before) => leads.map((lead) => [before, lead] as const));
  for (const [before, after] of [...joined, ["©", "Ġ"] as const]) {
    if (!known.has(before + after)) tokens.push(before + after);
    merges.unshift(`${before} ${after}`);
  }
  return {
    "tokenizer.ggml.tokens": stringsEntry("tokenizer.ggml.tokens", tokens),
    "tokenizer.ggml.merges": stringsEntry("tokenizer.ggml.merges", [...new Set(merges)]),
    "tokenizer.ggml.token_type": numbersEntry(
      "tokenizer.ggml.token_type",
      "i32",
      tokens.map(() => 1),
    ),
  };
}

it.skipIf(missing)(`suppresses the same tokens as llama.cpp ${missing ?? ""}`, async () => {
  const ids = [7, 3, -1, 70_000, 7, 69];
  const { path, file } = await folder.make("suppressed.gguf", [
    ...fewPairs,
    numbersEntry("tokenizer.ggml.suppress_tokens", "i32", ids),
  ]);
  expect([...createTokenizer(file).suppressed].toSorted((a, b) => a - b)).toEqual([3, 7, 69]);
  expect(new Set(createTokenizer(file).suppressed)).toEqual(new Set(await llamaSuppressed(path)));
});

it.skipIf(missing)(`cleans the same spaces as llama.cpp, by the pre-tokenizer's name ${missing ?? ""}`, async () => {
  const random = seededRandom(9);
  const words = [" ?", " .", " ,", " !", "a", " ' ", "'", " 's", " 'm", " 're", " 've", " 'll", " 't", " ", "  "];
  const texts = Array.from({ length: 40 }, () => Array.from({ length: 12 }, () => random.pick(words)).join(""));
  for (const name of byteLevel) {
    const { path, file } = await folder.make("clean.gguf", [...fewPairs, stringEntry("tokenizer.ggml.pre", name)]);
    const tokenizer = createTokenizer(file);
    for (const text of texts) {
      const ids = [...tokenizer.encode(text, PLAIN)];
      const expected = new TextDecoder().decode(await llamaDetokenize(path, ids));
      expect(tokenizer.decode(ids, { special: true, cleanSpaces: true }), name).toBe(expected);
    }
  }
});

describe.skipIf(missing)(`tokens, one by one ${missing ?? ""}`, () => {
  it.each(SHARED)("%s: the same bytes", async (name) => {
    await expectSamePieces(sharedFile(name), await openShared(name));
  });

  it.each(byteLevel)("%s: the same things added", async (name) => {
    const named = [...fewPairs, stringEntry("tokenizer.ggml.pre", name)];
    const nameless = named.filter(({ key }) => !/(?:bos|eos)_token_id$/u.test(key));
    for (const entries of [named, nameless]) {
      const { path, file } = await folder.make("added.gguf", entries);
      await expectSameAdded(path, file);
    }
  });

  it.each([
    ["SentencePiece", scoredPieces(seededRandom(1))],
    ["WordPiece", wordPieces(seededRandom(1))],
    ["WordPiece without a separator", wordPieces(seededRandom(1), flags("", { add_sep_token: false }))],
    ["Unigram", unigrams(seededRandom(1))],
    ["RWKV", escapedTokens(seededRandom(1))],
    ["PLaMo 2", scoredTokens(seededRandom(1))],
  ])("%s: the same things added", async (_, entries) => {
    const { path, file } = await folder.make("added.gguf", entries);
    await expectSameAdded(path, file);
  });

  it.each(SHARED)("%s: the same special ones and the same ends", async (name) => {
    const tokenizer = createTokenizer(await openShared(name));
    await expectSameAdded(sharedFile(name), await openShared(name));
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
      ["<|calls|>", "<|flush|>", "<|end|>"],
      ["<|calls|>", "<|end|>"],
      ["<|tool_response>", "</s>", "<|return|>", "<|end|>"],
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
