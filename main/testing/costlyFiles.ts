/** Costly files: nested arrays, vocabularies that flood an index, texts that slow a pattern. */
import { numbersEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import { PRE_TOKENIZER_NAMES, preTokenizer } from "../tokenizer/pretokenizers.ts";
import { collidingTexts } from "./collidingTexts.ts";

interface Costly {
  readonly file: () => readonly MetadataEntry[];
  /** How it ends; undefined when it opens and reads texts. */
  readonly code?: string;
  readonly text?: string;
  /** The file itself costs what another one here does, but for a name: only the text tells them apart. */
  readonly likeAnother?: boolean;
}

const key = (name: string): string => `tokenizer.ggml.${name}`;
const vocabulary = (
  tokens: readonly string[],
  kind: number,
  merges: readonly string[] = [],
  pre = "gpt-2",
  model = "gpt2",
): MetadataEntry[] => [
  stringEntry(key("model"), model),
  stringEntry(key("pre"), pre),
  stringsEntry(key("tokens"), tokens),
  numbersEntry(
    key("token_type"),
    "i32",
    tokens.map(() => kind),
  ),
  stringsEntry(key("merges"), merges),
];
const NORMAL = 1;
const CONTROL = 3;
const manyTexts = (count: number, text: (i: number) => string): string[] =>
  Array.from({ length: count }, (_, i) => text(i));

/** An array of empty arrays, as it lies in a file. */
function nested(name: string, count: number): MetadataEntry {
  const raw = new Uint8Array(12 + count * 12);
  const view = new DataView(raw.buffer);
  view.setUint32(0, 9, true);
  view.setUint32(4, count, true);
  for (let i = 0; i < count; i++) view.setUint32(12 + i * 12, 4, true);
  return { key: name, type: "array", raw, value: { kind: "arrays", items: [] } };
}

const bytes = (name: string, count: number): MetadataEntry => ({
  ...numbersEntry(name, "u8", []),
  raw: (() => {
    const raw = new Uint8Array(12 + count);
    new DataView(raw.buffer).setUint32(4, count, true);
    return raw;
  })(),
});

/**
 * A character map whose one entry is the child of itself; a text of any length ends there, with
 * this replacement.
 */
function circle(char: string, length = 1): number[] {
  const byte = char.charCodeAt(0);
  const words = new Uint32Array(129);
  words[0] = 512;
  // The root's children lie at distance 0, and those of this entry at the distance that leads back
  // to the root.
  words[1 + byte] = byte | (1 << 8) | (byte << 10);
  return [...new Uint8Array(words.buffer), ...new Uint8Array(length).fill(byte), 0];
}

/** Models that look for each token at each place. */
const SEARCHING = ["bert", "t5", "rwkv"];
const searching = (model: string, tokens: readonly string[]): MetadataEntry[] =>
  vocabulary(tokens, NORMAL, [], "", model);
const LONGEST = 1024;

/** Names with the same patterns cost the same. */
const onePerPattern = [...new Map(PRE_TOKENIZER_NAMES.map((name) => [preTokenizer(name).patterns, name])).values()];

export const COSTLY_FILES: Readonly<Record<string, Costly>> = {
  "40 keys of 10 000 nested arrays (4.8 MB)": {
    file: () => manyTexts(40, (i) => `k${i}`).map((name) => nested(name, 10_000)),
    code: "INPUT_LIMIT",
  },
  "480 keys of 10 000 nested arrays (58 MB)": {
    file: () => manyTexts(480, (i) => `k${i}`).map((name) => nested(name, 10_000)),
    code: "INPUT_LIMIT",
  },
  "15 keys of 4 MB": { file: () => manyTexts(15, (i) => `k${i}`).map((name) => bytes(name, 4 << 20)), code: "none" },
  "32 768 tokens that collide without a key": {
    file: () => vocabulary([...collidingTexts(15), "a"], NORMAL),
    text: "a".repeat(100_000),
  },
  "32 768 merges that collide without a key": {
    file: () =>
      vocabulary(
        ["a", "b"],
        NORMAL,
        collidingTexts(15).map((text) => `${text} a`),
      ),
    text: "ab".repeat(50_000),
  },
  "1.5 MB of control tokens": {
    file: () =>
      vocabulary(
        manyTexts(100_000, (i) => `<|token ${i}|>`),
        CONTROL,
      ),
    code: "INPUT_LIMIT",
  },
  "0.9 MB of control tokens, and a text of their beginnings": {
    file: () =>
      vocabulary(
        manyTexts(90_000, (i) => `<|${i}|>`),
        CONTROL,
      ),
    text: "<|12345".repeat(20_000),
  },
  "0.9 MB of control tokens that begin with each other": {
    file: () =>
      vocabulary(
        manyTexts(1300, (i) => "a".repeat(i + 1)),
        CONTROL,
      ),
    text: `${"a".repeat(1299)}b`.repeat(100),
  },
  "a million empty tokens": {
    file: () =>
      vocabulary(
        manyTexts(2 ** 20 + 1, () => ""),
        NORMAL,
      ),
    code: "INPUT_LIMIT",
  },
  ...Object.fromEntries(
    SEARCHING.flatMap((model): [string, Costly][] => [
      [
        `${model}: a token that is nearly at every place`,
        {
          file: () => searching(model, ["▁a", "a", `${"a".repeat(LONGEST - 1)}b`, `▁${"a".repeat(LONGEST - 4)}b`]),
          text: "a".repeat(30_000),
        },
      ],
      [
        `${model}: tokens of every length`,
        {
          file: () =>
            searching(
              model,
              manyTexts(LONGEST, (i) => "a".repeat(i + 1)),
            ),
          text: "ab".repeat(50_000),
        },
      ],
      [
        `${model}: a token of ${LONGEST + 1} bytes`,
        { file: () => searching(model, ["a", "a".repeat(LONGEST + 1)]), code: "INPUT_LIMIT" },
      ],
      [
        `${model}: 34 MB of tokens`,
        {
          file: () =>
            searching(
              model,
              manyTexts(34_000, (i) => `${i}`.padStart(1000)),
            ),
          code: "INPUT_LIMIT",
        },
      ],
    ]),
  ),
  "t5: tokens of every length in a text of them": {
    file: () =>
      searching(
        "t5",
        manyTexts(LONGEST, (i) => "a".repeat(i + 1)),
      ),
    text: "a".repeat(10_000),
  },
  "t5: a character map that leads back to itself": {
    file: () => [...searching("t5", ["a"]), numbersEntry(key("precompiled_charsmap"), "u8", circle("a"))],
    text: "a".repeat(100_000),
  },
  "t5: a character map with a replacement of 1 MB": {
    file: () => [...searching("t5", ["a"]), numbersEntry(key("precompiled_charsmap"), "u8", circle("a", 1 << 20))],
    text: "a".repeat(100_000),
    code: "INPUT_LIMIT",
  },
  ...Object.fromEntries(
    onePerPattern.map((pre, i) => [
      `100 KB of spaces, cut as ${pre}`,
      { file: () => vocabulary(["Ġ"], NORMAL, [], pre), text: " ".repeat(100_000), likeAnother: i > 0 },
    ]),
  ),
};
