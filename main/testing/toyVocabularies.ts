/**
 * Vocabularies of every tokenizer model, with random tokens, merges and scores, for tests beside
 * llama.cpp.
 */
import { numberEntry, numbersEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import { byteText } from "../tokenizer/rules.ts";
import { byteCharacters } from "./byteVocabulary.ts";
import type { Random } from "./random.ts";
import { hardText } from "./vocabulary.ts";

/** A vocabulary by itself, as llama.cpp loads it too. */
const vocabularyEntries = (model: string, tokens: readonly ToyToken[], more: readonly MetadataEntry[] = []) => [
  stringEntry("general.architecture", "llama"),
  stringEntry("tokenizer.ggml.model", model),
  stringsEntry(
    "tokenizer.ggml.tokens",
    tokens.map(({ text }) => text),
  ),
  numbersEntry(
    "tokenizer.ggml.scores",
    "f32",
    tokens.map(({ score = 0 }) => score),
  ),
  numbersEntry(
    "tokenizer.ggml.token_type",
    "i32",
    tokens.map(({ kind = TOY_KINDS.normal }) => kind),
  ),
  ...more,
];

const TOY_KINDS = { normal: 1, unknown: 2, control: 3, user: 4, unused: 5, byte: 6 } as const;

interface ToyToken {
  readonly text: string | Uint8Array;
  readonly score?: number;
  readonly kind?: number;
}

/**
 * A byte-level vocabulary in which any two bytes merge, in an order by chance, so that every cut
 * between words shows in the ids; or only so many pairs of them.
 */
export function everyPair(random: Random, most = 1 << 16): MetadataEntry[] {
  const bytes = byteCharacters();
  const pairs = bytes.flatMap((first) => bytes.map((second) => [first, second] as const));
  for (let i = pairs.length - 1; i > 0; i--) {
    const j = random.integer(i + 1);
    const [a, b] = [pairs[i], pairs[j]];
    if (a !== undefined && b !== undefined) [pairs[i], pairs[j]] = [b, a];
  }
  pairs.length = Math.min(pairs.length, most);
  const special = ["<s>", "</s>", "<|im_start|>", "<mask>"].map((text) => ({ text, kind: TOY_KINDS.control }));
  const words = ["hello", "Ġhello", "123", "1234", "Ġ\u010a", "\u010a\u010a"].map((text) => ({ text }));
  const tokens = [
    ...special,
    { text: "<|user|>", kind: TOY_KINDS.user },
    ...bytes.map((text) => ({ text })),
    ...pairs.map(([first, second]) => ({ text: first + second })),
  ];
  const known = new Set(tokens.map(({ text }) => text));
  return vocabularyEntries(
    "gpt2",
    [...tokens, ...words.filter(({ text }) => !known.has(text))],
    [
      stringsEntry(
        "tokenizer.ggml.merges",
        pairs.map(([first, second]) => `${first} ${second}`),
      ),
      ...["bos", "eos", "seperator"].map((name, id) => numberEntry(`tokenizer.ggml.${name}_token_id`, "u32", id % 2)),
    ],
  );
}

/** Parts of hard texts, each once: what a vocabulary made from such texts would have. */
function toyPieces(random: Random, count: number, longest: number): string[] {
  const found = new Set<string>();
  while (found.size < count) {
    // A token ends at a NUL in llama.cpp.
    const chars = [...hardText(random).replaceAll(" ", "▁").replaceAll("\0", "")];
    for (let n = 0; n < 8 && chars.length > 0; n++) {
      const start = random.integer(chars.length);
      found.add(chars.slice(start, start + 1 + random.integer(longest)).join(""));
    }
  }
  return [...found];
}

const byteTokens = (): ToyToken[] =>
  Array.from({ length: 256 }, (_, byte) => ({ text: byteText(byte), kind: TOY_KINDS.byte }));

const unique = (tokens: readonly ToyToken[]): ToyToken[] =>
  [...new Map(tokens.toReversed().map((token) => [token.text, token])).values()].toReversed();

const SPECIALS: readonly ToyToken[] = [
  { text: "<unk>", kind: TOY_KINDS.unknown },
  { text: "<s>", kind: TOY_KINDS.control },
  { text: "</s>", kind: TOY_KINDS.control },
  { text: "<|im_start|>", kind: TOY_KINDS.control },
  { text: "<|user|>", kind: TOY_KINDS.user },
  { text: "<|unused|>", kind: TOY_KINDS.unused },
];
const specialIds = (ids: Readonly<Record<string, number>>): MetadataEntry[] =>
  Object.entries(ids).map(([name, id]) => numberEntry(`tokenizer.ggml.${name}_token_id`, "u32", id));

/** SentencePiece: scores by chance, many of them equal, and some bytes without a token. */
export function scoredPieces(random: Random, more: readonly MetadataEntry[] = []): MetadataEntry[] {
  const tokens = unique([
    ...SPECIALS,
    ...byteTokens(),
    ...toyPieces(random, 3000, 5).map((text) => ({
      text,
      score: -random.integer(200),
      kind: random.next() < 0.02 ? TOY_KINDS.unused : TOY_KINDS.normal,
    })),
  ]);
  return vocabularyEntries("llama", tokens, [...specialIds({ bos: 1, eos: 2, unknown: 0 }), ...more]);
}

/** BPE over the characters themselves (gemma4): some merges make no token, some bytes have none. */
export function characterPairs(model: string, random: Random, more: readonly MetadataEntry[] = []): MetadataEntry[] {
  const merges = new Set<string>();
  const products = new Set<string>();
  for (const piece of toyPieces(random, 1500, 6)) {
    const chars = [...piece].filter((char) => char !== "\n");
    for (let middle = 1; middle < chars.length; middle++) {
      merges.add(`${chars.slice(0, middle).join("")} ${chars.slice(middle).join("")}`);
      if (random.next() < 0.9) products.add(chars.slice(0, middle + 1).join(""));
    }
  }
  const tokens = unique([
    ...SPECIALS,
    ...byteTokens().filter((_, byte) => byte !== 0xf0),
    // llama.cpp ends when a row of line ends is no token.
    ...Array.from({ length: 40 }, (_, i) => ({ text: "\n".repeat(i + 1) })),
    ...toyPieces(random, 300, 1).map((text) => ({ text })),
    ...[...products].map((text) => ({ text })),
  ]);
  return vocabularyEntries(model, tokens, [
    stringsEntry("tokenizer.ggml.merges", [...merges]),
    ...specialIds({ bos: 1, eos: 2 }),
    ...more,
  ]);
}

/** WordPiece, as converters write it: words begin with ▁, their other parts stand bare. */
export function wordPieces(random: Random, more: readonly MetadataEntry[] = []): MetadataEntry[] {
  const bare = (texts: readonly string[]): string[] =>
    texts.map((text) => text.replaceAll("▁", "")).filter((text) => text !== "");
  const parts = bare(toyPieces(random, 3000, 4)).flatMap((text) => [text, text.toLowerCase(), text.normalize("NFD")]);
  const tokens = unique([
    ...["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map((text) => ({ text, kind: TOY_KINDS.control })),
    { text: "<|user|>", kind: TOY_KINDS.user },
    ...parts.map((text) => ({ text: random.next() < 0.6 ? `▁${text}` : text })),
  ]);
  return vocabularyEntries("bert", tokens, [...specialIds({ bos: 2, unknown: 1, seperator: 3, mask: 4 }), ...more]);
}

/** WordPiece with each of these characters as a word. */
export const characterWords = (characters: readonly string[], more: readonly MetadataEntry[]): MetadataEntry[] =>
  vocabularyEntries(
    "bert",
    [{ text: "[UNK]" }, { text: "[CLS]" }, { text: "[SEP]" }, ...characters.map((char) => ({ text: `▁${char}` }))],
    [...specialIds({ bos: 1, unknown: 0, seperator: 2 }), ...more],
  );

/** Unigram: scores by chance, some tokens unused or user-defined, not every character a token. */
export function unigrams(random: Random, more: readonly MetadataEntry[] = []): MetadataEntry[] {
  const tokens = unique([
    { text: "<pad>", kind: TOY_KINDS.control },
    { text: "</s>", kind: TOY_KINDS.control },
    { text: "<unk>", kind: TOY_KINDS.unknown },
    ...["<|user|>", "<extra_id_1>", "ver"].map((text) => ({ text, kind: TOY_KINDS.user })),
    { text: "<0x41>", kind: TOY_KINDS.byte },
    ...toyPieces(random, 3000, 5).map((text) => ({
      text,
      score: -20 * random.next(),
      kind: random.next() < 0.03 ? TOY_KINDS.unused : TOY_KINDS.normal,
    })),
  ]);
  return vocabularyEntries("t5", tokens, [...specialIds({ bos: 0, eos: 1, unknown: 2 }), ...more]);
}

/** What NFKC does to single characters, and a few texts of several, as a character map. */
export function toyCharsmap(): MetadataEntry {
  const points = [...Array(0x3400).keys(), ...Array.from({ length: 0x700 }, (_, i) => 0xf900 + i)].slice(0x80);
  const single = points
    .map((point) => String.fromCodePoint(point))
    .map((char) => [char, char.normalize("NFKC")] as const);
  const pairs = [
    ...single.filter(([from, to]) => from !== to),
    ...(["\t", "\n", "\r\n", "\u00a0"] as const).map((text) => [text, " "] as const),
    ["e\u0301", "é"],
    ["\u200b", ""],
    ["!", "！"],
    ["!!", "‼!"],
  ] as const;
  return numbersEntry("tokenizer.ggml.precompiled_charsmap", "u8", [...doubleArray(new Map(pairs))]);
}

interface ArrayNode {
  readonly children: Map<number, ArrayNode>;
  value?: number;
}

/** The map as SentencePiece writes it: see main/tokenizer/charsmap.ts. */
function doubleArray(map: ReadonlyMap<string, string>): Uint8Array {
  const utf8 = new TextEncoder();
  const root: ArrayNode = { children: new Map() };
  const replacements: number[] = [];
  for (const [from, to] of map) {
    let node = root;
    for (const byte of utf8.encode(from)) {
      const next = node.children.get(byte) ?? { children: new Map() };
      node.children.set(byte, next);
      node = next;
    }
    node.value = replacements.length;
    replacements.push(...utf8.encode(to), 0);
  }
  const entries: (number | undefined)[] = [0];
  const place = (node: ArrayNode, at: number): void => {
    const used = [...(node.value === undefined ? [] : [0]), ...node.children.keys()];
    let base = 1;
    while (used.some((byte) => entries[base ^ byte] !== undefined)) base += 1;
    entries[at] = ((entries[at] ?? 0) | ((base ^ at) << 10) | (node.value === undefined ? 0 : 1 << 8)) >>> 0;
    if (node.value !== undefined) entries[base] = (node.value | (1 << 31)) >>> 0;
    for (const byte of node.children.keys()) entries[base ^ byte] = byte;
    for (const [byte, child] of node.children) place(child, base ^ byte);
  };
  place(root, 0);
  const count = (entries.length | 255) + 1;
  const words = Uint32Array.from({ length: count + 1 }, (_, i) => (i === 0 ? count * 4 : (entries[i - 1] ?? 0)));
  return Uint8Array.from([...new Uint8Array(words.buffer), ...replacements]);
}

/** Byte-level BPE with tokens for most of what six letters of DNA can be. */
export function dnaTokens(random: Random): MetadataEntry[] {
  const words = byteCharacters().map((text) => ({ text }));
  const letters = Array.from({ length: 4 ** 6 }, (_, i) =>
    i
      .toString(4)
      .padStart(6, "0")
      .replaceAll(/./gu, (digit) => "ACGT".charAt(Number(digit))),
  );
  const tokens = [
    { text: "<s>", kind: TOY_KINDS.control },
    { text: "ACGTAC" },
    ...words,
    ...["<dna>", "</dna>", "<oov>"].map((text) => ({ text })),
    ...letters.filter(() => random.next() < 0.9).map((text) => ({ text: `${text}\ue000` })),
  ];
  return vocabularyEntries("hybriddna", tokens, [
    stringEntry("tokenizer.ggml.pre", "qwen2"),
    stringsEntry("tokenizer.ggml.merges", ["A C", "AC G"]),
    ...specialIds({ bos: 0, eos: 0 }),
  ]);
}

/** RWKV: every byte is a token, and texts that may end within a character. */
export function escapedTokens(random: Random): MetadataEntry[] {
  const utf8 = new TextEncoder();
  const escaped = (bytes: Uint8Array): string =>
    [...bytes]
      .map((byte) => {
        const char = String.fromCharCode(byte);
        if (byte === 0x0a) return "\\n";
        if (char === "\\" || char === "'") return `\\${char}`;
        return byte >= 0x20 && byte < 0x7f ? char : `\\x${byte.toString(16).padStart(2, "0")}`;
      })
      .join("");
  const texts = toyPieces(random, 2500, 5).map((text) => {
    const bytes = utf8.encode(text.replaceAll("▁", " "));
    return random.next() < 0.2 ? escaped(bytes.subarray(0, 1 + random.integer(bytes.length))) : escaped(bytes);
  });
  const tokens = unique([
    { text: "<s>", kind: TOY_KINDS.control },
    ...Array.from({ length: 256 }, (_, byte) => ({ text: escaped(Uint8Array.of(byte)) })),
    ...["<|user|>", "é", "你好", "привет"].map((text) => ({ text })),
    ...texts.map((text) => ({ text })),
  ]);
  return vocabularyEntries("rwkv", tokens);
}

/** PLaMo 2: scores by chance, some of them too low or no number. */
export function scoredTokens(random: Random): MetadataEntry[] {
  const anyScore = (): number => {
    const choice = random.next();
    if (choice < 0.02) return choice < 0.01 ? -Infinity : NaN;
    if (choice < 0.05) return choice < 0.04 ? -999 : -2500;
    return random.next() < 0.1 ? -Math.round(random.next() * 4) : -30 * random.next();
  };
  const tokens = unique([
    ...SPECIALS,
    ...byteTokens(),
    ...toyPieces(random, 3000, 5).map((text) => ({ text: text.replaceAll("▁", " "), score: anyScore() })),
  ]);
  return vocabularyEntries("plamo2", tokens, specialIds({ bos: 1, eos: 2, unknown: 0 }));
}
