/**
 * Whole vocabularies as tokenizer.json has them: what the tokenizers of Hugging Face make of llama.cpp's test texts (the
 * `.out` files), our tokenizer makes over the keys that are written from tokenizer.json.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { sharedFile, sharedFileMissing } from "../../testing/sharedData.ts";
import { openShared } from "../../testing/vocabulary.ts";
import { createTokenizer } from "../../tokenizer/tokenizer.ts";
import { Metadata } from "../gguf/metadata.ts";
import { Json } from "../json.ts";
import { tokenizerEntries } from "./tokenizer.ts";

type JsonParts = Readonly<Record<string, unknown>>;
interface Shared {
  readonly tokens: readonly string[];
  readonly kinds: readonly number[];
  readonly scores: readonly number[];
  readonly merges: readonly string[];
}
const NORMAL = 1;
const BYTE = 6;

const vocabularyOf = ({ tokens }: Shared): JsonParts => Object.fromEntries(tokens.map((token, id) => [token, id]));
const added = ({ tokens, kinds }: Shared): readonly JsonParts[] =>
  tokens.flatMap((content, id) =>
    kinds[id] === NORMAL || kinds[id] === BYTE
      ? []
      : [
          {
            id,
            content,
            special: kinds[id] !== 4,
            normalized: false,
            single_word: false,
            lstrip: false,
            rstrip: false,
          },
        ],
  );
const BYTES = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };

const bytes = (shared: Shared, preTokenizer: JsonParts): JsonParts => ({
  added_tokens: added(shared),
  normalizer: null,
  pre_tokenizer: preTokenizer,
  decoder: BYTES,
  model: { type: "BPE", vocab: vocabularyOf(shared), merges: shared.merges },
});

/** The merges of a SentencePiece vocabulary: each way to join two tokens to a third, the likeliest third first. */
function joins({ tokens, kinds, scores }: Shared): readonly (readonly [string, string])[] {
  const known = new Set(tokens);
  return tokens
    .flatMap((token, id) => {
      if (kinds[id] !== NORMAL) return [];
      const parts = Array.from(token);
      return parts.slice(1).flatMap((_, i) => {
        const [left, right] = [parts.slice(0, i + 1).join(""), parts.slice(i + 1).join("")];
        return known.has(left) && known.has(right) ? [{ left, right, score: scores[id] ?? 0 }] : [];
      });
    })
    .toSorted((a, b) => b.score - a.score || b.left.length - a.left.length || b.right.length - a.right.length)
    .map(({ left, right }) => [left, right]);
}

const split = (regex: string): JsonParts => ({
  type: "Split",
  pattern: { Regex: regex },
  behavior: "Isolated",
  invert: false,
});

const MADE: Readonly<Record<string, (shared: Shared) => JsonParts>> = {
  "gpt-2": (shared) => bytes(shared, BYTES),
  "deepseek-coder": (shared) =>
    bytes(shared, {
      type: "Sequence",
      pretokenizers: [
        ...["[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[一-龥ࠀ-一가-퟿]+"].map(split),
        { type: "Digits", individual_digits: true },
        { ...BYTES, use_regex: false },
      ],
    }),
  "llama-spm": (shared) => ({
    added_tokens: added(shared),
    normalizer: {
      type: "Sequence",
      normalizers: [
        { type: "Prepend", prepend: "▁" },
        { type: "Replace", pattern: { String: " " }, content: "▁" },
      ],
    },
    pre_tokenizer: null,
    model: {
      ...{ type: "BPE", unk_token: "<unk>", fuse_unk: true, byte_fallback: true },
      ...{ vocab: vocabularyOf(shared), merges: joins(shared) },
    },
  }),
  "bert-bge": (shared) => ({
    added_tokens: added(shared),
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    model: {
      ...{ type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 100 },
      vocab: Object.fromEntries(
        shared.tokens.map((token, id) => [
          token.startsWith("▁") ? token.slice(1) : shared.kinds[id] === NORMAL ? `##${token}` : token,
          id,
        ]),
      ),
    },
  }),
};

describe.each(Object.entries(MADE))("the vocabulary of %s as a tokenizer.json", (name, make) => {
  const file = `vocab/${name}.gguf`;
  const missing = sharedFileMissing(file);
  it.skipIf(missing)(`gives the ids of Hugging Face ${missing ?? ""}`, async () => {
    const { metadata } = await openShared(file);
    const texts = (key: string): readonly string[] => {
      const table = metadata.optionalStrings(`tokenizer.ggml.${key}`);
      return Array.from({ length: table?.length ?? 0 }, (_, i) => table!.textAt(i));
    };
    const tokens = texts("tokens");
    const kinds = [...(metadata.optionalIntegers("tokenizer.ggml.token_type") ?? [])];
    const scores = [...(metadata.optionalFloats("tokenizer.ggml.scores") ?? [])];
    const shared = { tokens, kinds, scores, merges: texts("merges") };
    const entries = tokenizerEntries({
      name,
      tokenizer: new Json(make(shared)),
      settings: new Json({}),
      config: new Json({}),
      generation: new Json({}),
      template: undefined,
      rows: tokens.length,
    });
    const tokenizer = createTokenizer({ name, metadata: new Metadata(name, entries) });
    const inputs = readFileSync(sharedFile(`${file}.inp`), "utf8").split("\n__ggml_vocab_test__\n");
    const outputs = readFileSync(sharedFile(`${file}.out`), "utf8").split("\n");
    inputs.forEach((text, i) => {
      expect(tokenizer.encode(text, { addSpecial: false }).join(" "), JSON.stringify(text)).toBe(outputs[i]?.trim());
    });
  });
});
