/**
 * BPE (`gpt2`): words are cut off first, then each word's bytes, written as printable characters,
 * are merged by the ranks of the file's merge list. Merges are looked up in the file's own bytes
 * ("left right"), never as strings. `gemma4` and a few pre-tokenizers merge the characters
 * themselves.
 */
import type { StringTable } from "../formats/gguf/values.ts";
import type { Steps } from "../ir/steps.ts";
import { wordEnds } from "./cutting.ts";
import { dnaOf } from "./hybridDna.ts";
import { characterStarts, mergeSymbols } from "./merge.ts";
import { preTokenizer } from "./pretokenizers.ts";
import type { PreTokenizer, Spelling } from "./pretokenizers.ts";
import { byteText, bytesByKind, flag, framed, framingOf, withSpaces } from "./rules.ts";
import type { TokenizerModel, TokenizerRules, TokenizerSource } from "./rules.ts";
import { StringIndex } from "./stringIndex.ts";
import { lowerCase, wordsOf } from "./unicode.ts";
import { MOST_MERGES, Vocabulary, atMost, checkedTokens } from "./vocabulary.ts";

/**
 * GPT-2's alphabet: printable bytes stand for themselves, the other 68 for the code points from U+0100 on, in order.
 * `charOf[b]` is the code point for byte b.
 */
const charOf = new Uint16Array(256);
const byteOf = new Map<number, number>();
{
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    charOf[byte] = printable ? byte : next++;
    byteOf.set(charOf[byte] ?? 0, byte);
  }
}

const encoder = new TextEncoder();
/** Words between two pauses. */
const PAUSE_EVERY = 1 << 10;
const WORDS_KEPT = 1 << 15;
const LONGEST_KEPT = 64;

export const bytePairs: TokenizerModel = {
  id: "bpe",
  title: "BPE",
  names: ["gpt2", "gemma4", "whitespace", "hybriddna"],
  check: (source) => {
    preOf(source);
    checkedTokens(source.name, source.metadata);
    mergesOf(source);
  },
  make,
};

function make(source: TokenizerSource): TokenizerRules {
  const { name, metadata } = source;
  const pre = preOf(source);
  const model = metadata.string("tokenizer.ggml.model");
  const isGemma = model === "gemma4";
  const vocabulary = new Vocabulary(name, metadata, {
    bos: pre.noBos || isGemma ? undefined : 11,
    eos: isGemma ? undefined : 11,
    unknown: undefined,
  });
  const { bos, eos } = vocabulary.special;
  const merger = new BytePairEncoder(vocabulary, mergesOf(source), pre);
  const dropsSpaces = model === "whitespace";
  const lowers = flag(source, "normalizer.lowercase", pre.spelling !== "utf8");
  const dna = model === "hybriddna" ? dnaOf(vocabulary) : undefined;
  const asked = framingOf(source, { addBos: pre.addBos === true, addSep: pre.addSep });
  const framing = { ...asked, addBos: pre.addBos === "always" || asked.addBos };
  return {
    ...framing,
    pre: pre.name,
    vocabulary,
    *encode(text, out) {
      if (dna !== undefined) return yield* dna.encode(text, out, (words) => merger.encode(words, out));
      if (!dropsSpaces) return yield* merger.encode(text, out);
      for (const word of wordsOf(text)) yield* merger.encode(lowers ? lowerCase(word) : word, out);
    },
    bytesOf: (id, kind) =>
      bytesByKind(vocabulary, id, kind, (text) => NORMAL_BYTES[pre.spelling](dna?.shown(id, text) ?? text)),
    before: framed(framing.addBos && bos),
    behind: framed(framing.addEos && eos),
    cleanSpaces: pre.cleanSpaces,
    keepsText: !dropsSpaces,
    warnings: isNamed(source)
      ? []
      : ["The file does not name its pre-tokenizer; text is split by the default rules, which may be the wrong ones."],
  };
}

const nameOfPre = ({ metadata }: TokenizerSource): string =>
  metadata.string("tokenizer.ggml.model") === "gemma4"
    ? "gemma4"
    : (metadata.optionalString("tokenizer.ggml.pre") ?? "");
const isNamed = (source: TokenizerSource): boolean => nameOfPre(source) !== "";
const preOf = (source: TokenizerSource): PreTokenizer => preTokenizer(nameOfPre(source) || "default");

const NO_MERGES = "kimi-k2";

function mergesOf(source: TokenizerSource): StringTable | undefined {
  const { name, metadata } = source;
  const key = "tokenizer.ggml.merges";
  if (nameOfPre(source) === NO_MERGES && !metadata.has(key)) return undefined;
  const merges = metadata.strings(key);
  atMost(name, "merges", merges.length, MOST_MERGES);
  return merges;
}

const NORMAL_BYTES: Readonly<Record<Spelling, (text: string) => Uint8Array>> = {
  bytes: decodeByteText,
  utf8: (text) => encoder.encode(text),
  "utf8 with ▁": withSpaces,
};

/** A word as the vocabulary spells it: its bytes, and where each of its symbols begins. */
interface Spelled {
  readonly bytes: Uint8Array;
  readonly starts: Int32Array;
  readonly count: number;
}

class BytePairEncoder {
  readonly #vocabulary: Vocabulary;
  readonly #merges: StringTable | undefined;
  readonly #pre: PreTokenizer;
  #mergeIndex: StringIndex | undefined;
  readonly #words = new Map<string, readonly number[]>();

  constructor(vocabulary: Vocabulary, merges: StringTable | undefined, pre: PreTokenizer) {
    this.#vocabulary = vocabulary;
    this.#merges = merges;
    this.#pre = pre;
  }

  *encode(text: string, out: number[]): Steps<void> {
    let start = 0;
    let count = 0;
    for (const end of yield* wordEnds(text, this.#pre.patterns)) {
      if (++count % PAUSE_EVERY === 0) yield;
      const word = text.slice(start, end);
      start = end;
      const ids = this.#words.get(word) ?? (yield* this.#encodeWord(word));
      for (const id of ids) out.push(id);
      if (word.length > LONGEST_KEPT) continue;
      if (this.#words.size >= WORDS_KEPT) this.#words.clear();
      this.#words.set(word, ids);
    }
  }

  *#encodeWord(word: string): Steps<readonly number[]> {
    const { index } = this.#vocabulary;
    const { spelling, ignoreMerges, wholeLineEnds } = this.#pre;
    const { bytes, starts, count } = spelling === "bytes" ? spellInBytes(word) : spellInCharacters(word, spelling);
    if (ignoreMerges || (wholeLineEnds && word.startsWith("\n"))) {
      const whole = index.find(bytes, 0, starts[count]);
      if (whole >= 0) return [whole];
    }
    const kept = yield* this.#merge(bytes, starts, count);
    const ids: number[] = [];
    for (let i = 0; i < kept; i++) {
      const from = starts[i] ?? 0;
      const to = starts[i + 1] ?? 0;
      const id = index.find(bytes, from, to);
      if (id >= 0) ids.push(id);
      else this.#pushSingleBytes(bytes, from, to, ids);
    }
    return ids;
  }

  *#merge(bytes: Uint8Array, starts: Int32Array, count: number): Steps<number> {
    if (this.#merges === undefined) return count;
    const merges = (this.#mergeIndex ??= new StringIndex(this.#merges, "first"));
    return yield* mergeSymbols(starts, count, (from, middle, to) => {
      const rank = merges.findPair(bytes, from, middle, to);
      return rank < 0 ? Infinity : rank;
    });
  }

  /** What is no token falls apart into the bytes that are; the others are lost, as in llama.cpp. */
  #pushSingleBytes(bytes: Uint8Array, from: number, to: number, ids: number[]): void {
    const { index } = this.#vocabulary;
    for (let i = from; i < to; i++) {
      const id =
        this.#pre.spelling === "bytes"
          ? index.find(bytes, i, i + 1)
          : index.find(encoder.encode(byteText(bytes[i] ?? 0)));
      if (id >= 0) ids.push(id);
    }
  }
}

/** The bytes of the word that is spelled; one for all, because nothing pauses before they are read. */
let raw = new Uint8Array(1024);

/** Each byte is a symbol, written as one printable character. */
function spellInBytes(word: string): Spelled {
  if (raw.length < 3 * word.length) raw = new Uint8Array(6 * word.length);
  const count = encoder.encodeInto(word, raw).written;
  const bytes = new Uint8Array(count * 2);
  const starts = new Int32Array(count + 1);
  let length = 0;
  for (let i = 0; i < count; i++) {
    starts[i] = length;
    const char = charOf[raw[i] ?? 0] ?? 0;
    if (char < 0x80) bytes[length++] = char;
    else {
      bytes[length++] = 0xc0 | (char >> 6);
      bytes[length++] = 0x80 | (char & 63);
    }
  }
  starts[count] = length;
  return { bytes, starts, count };
}

/** Each character is a symbol. */
function spellInCharacters(word: string, spelling: Spelling): Spelled {
  const bytes = encoder.encode(spelling === "utf8 with ▁" ? word.replaceAll(" ", "▁") : word);
  return { bytes, ...characterStarts(bytes) };
}

/** The bytes that a token's printable text stands for; characters outside the alphabet stand for themselves. */
function decodeByteText(text: string): Uint8Array {
  const bytes: number[] = [];
  for (const char of text) {
    const byte = byteOf.get(char.codePointAt(0) ?? 0);
    if (byte === undefined) bytes.push(...encoder.encode(char));
    else bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}
