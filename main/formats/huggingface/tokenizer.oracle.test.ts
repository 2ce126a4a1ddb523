// Tokenizers of folders: our ids are those of llama.cpp over the GGUF that is written from the folder, and texts come back.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openFileSink } from "../../node/files/fileByteSource.ts";
import { modelFiles } from "../../node/files/modelFiles.ts";
import { llamaForget, llamaMissing, llamaTokenize } from "../../testing/llama.ts";
import { BYTE_LEVEL, TOY_FOLDERS, toyTokenizer, writeFolder } from "../../testing/toyFolders.ts";
import { TOY_TRANSLATORS } from "../../testing/toyTranslators.ts";
import { createTokenizer } from "../../tokenizer/tokenizer.ts";
import type { OracleValue } from "../../testing/oracleProcess.ts";
import { contentsOf, writeGguf } from "../gguf/write.ts";
import { openModelFile } from "../openModel.ts";

const missing = llamaMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-hf-tokens-"));
afterAll(async () => {
  if (missing === undefined) await llamaForget();
  rmSync(folder, { recursive: true, force: true });
});

const MODERN = (digits: string): OracleValue => ({
  type: "Sequence",
  pretokenizers: [
    {
      type: "Split",
      pattern: {
        Regex: `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`,
      },
      ...{ behavior: "Isolated", invert: false },
    },
    { ...BYTE_LEVEL, use_regex: false },
  ],
});
const SPLIT = (regex: string): OracleValue => ({
  type: "Sequence",
  pretokenizers: [
    { type: "Split", pattern: { Regex: regex }, behavior: "Isolated", invert: false },
    { ...BYTE_LEVEL, use_regex: false },
  ],
});
const MARKED =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
/** Words that end where upper case begins, as Mistral's and OpenAI's newer tokenizers have them. */
const CASED = (digits: string, ending: string): string =>
  `[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+${ending}|` +
  `[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*${ending}|` +
  `\\p{N}${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const DIGITS = { type: "Sequence", pretokenizers: [{ type: "Digits", individual_digits: true }, BYTE_LEVEL] };

const CASES: readonly (readonly [string, OracleValue])[] = [
  ["gpt-2", BYTE_LEVEL],
  ["smollm", DIGITS],
  ["dbrx", MODERN("{1,3}")],
  ["qwen2", MODERN("")],
  ["qwen35", SPLIT(MARKED)],
  ["tekken", SPLIT(CASED("", ""))],
  ["gpt-4o", SPLIT(CASED("{1,3}", "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"))],
];

const TEXTS = [
  "the rest of the winding road",
  "on 1212 and 12 more, 1234567890!",
  "it's HE'S the're  we'll   and\n\n\tthen ",
  "<|begin|>the<|tool|>an<|turn|> x<|end|>",
  "naïve 東京 🙂 и так далее\r\n  12",
  "",
];

async function open(path: string) {
  const { source, openSibling } = await modelFiles.open(path);
  return openModelFile(source, { openSibling });
}

describe.skipIf(missing !== undefined)(`tokenizers of folders ${missing ?? ""}`, () => {
  test.each(CASES)("byte-level BPE, %s", async (name, preTokenizer) => {
    const path = join(folder, name);
    await writeFolder(path, TOY_FOLDERS[0]!, toyTokenizer(preTokenizer));
    const file = await open(path);
    await writeGguf(await openFileSink(`${path}.gguf`), contentsOf(file));
    const tokenizer = createTokenizer(file);
    expect(tokenizer.pre).toBe(name);
    expect(file.metadata.optionalNumber("general.sampling.temp")).toBeCloseTo(0.7);
    expect([tokenizer.addBos, tokenizer.bos, tokenizer.eos]).toEqual([true, 275, 276]);
    expect([...tokenizer.endings].toSorted((a, b) => a - b)).toEqual([276, 278]);
    const theirs = await llamaTokenize(`${path}.gguf`, TEXTS);
    for (const [i, text] of TEXTS.entries()) {
      expect([...tokenizer.encode(text)], text).toEqual([...theirs[i]!]);
      expect(tokenizer.decode(tokenizer.encode(text, { addSpecial: false }), { special: true })).toBe(text);
    }
    await file.close();
  });

  test("Unigram of T5: words are split at spaces, and a text ends with </s>", async () => {
    const path = join(folder, "t5");
    const words = ["<pad>", "</s>", "<unk>", "▁", "▁the", "▁road", "th", "e", "r", "o", "a", "d", "t", "h", "1", "2"];
    const metaspace = { type: "Metaspace", replacement: "▁", add_prefix_space: true };
    const dollar = (name: string): OracleValue => ({ [name]: { id: name === "Sequence" ? "A" : "</s>", type_id: 0 } });
    await writeFolder(path, TOY_TRANSLATORS[0]!, {
      "tokenizer.json": {
        added_tokens: words.slice(0, 3).map((content, id) => ({ id, content, special: true })),
        normalizer: null,
        pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "WhitespaceSplit" }, metaspace] },
        post_processor: { type: "TemplateProcessing", single: [dollar("Sequence"), dollar("SpecialToken")], pair: [] },
        model: { type: "Unigram", unk_id: 2, vocab: words.map((word, i) => [word, i < 3 ? 0 : -1 - i / 8]) },
      },
      "tokenizer_config.json": { eos_token: "</s>", pad_token: "<pad>", unk_token: "<unk>" },
    });
    const file = await open(path);
    await writeGguf(await openFileSink(`${path}.gguf`), contentsOf(file));
    const tokenizer = createTokenizer(file);
    const id = (word: string): number => words.indexOf(word);
    expect([...tokenizer.encode("  the   road ")]).toEqual([id("▁the"), id("▁road"), id("</s>")]);
    const texts = ["  the   road ", "the road", "tha 1 2", "x", ""];
    const theirs = await llamaTokenize(`${path}.gguf`, texts);
    for (const [i, text] of texts.entries()) expect([...tokenizer.encode(text)], text).toEqual([...theirs[i]!]);
    await file.close();
  });
});
