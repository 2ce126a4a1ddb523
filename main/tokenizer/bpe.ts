/**
 * Byte-level BPE (`gpt2`): words are cut off first, then each word's bytes, written as printable
 * characters, are merged by the ranks of the file's merge list. Merges are looked up in the file's
 * own bytes ("left right"), never as strings.
 */
import type { StringTable } from "../formats/gguf/values.ts";
import type { Steps } from "../ir/steps.ts";
import { mergeSymbols } from "./merge.ts";
import { wordEnds } from "./pretokenizers.ts";
import type { PreTokenizer } from "./pretokenizers.ts";
import { StringIndex } from "./stringIndex.ts";
import type { Vocabulary } from "./vocabulary.ts";

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

export class BytePairEncoder {
  readonly #vocabulary: Vocabulary;
  readonly #merges: StringTable;
  readonly #pre: PreTokenizer;
  #mergeIndex: StringIndex | undefined;
  readonly #words = new Map<string, readonly number[]>();

  constructor(vocabulary: Vocabulary, merges: StringTable, pre: PreTokenizer) {
    this.#vocabulary = vocabulary;
    this.#merges = merges;
    this.#pre = pre;
  }

  *encode(text: string, out: number[]): Steps<void> {
    let start = 0;
    let count = 0;
    for (const end of yield* wordEnds(text, this.#pre)) {
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
    const raw = encoder.encode(word);
    const bytes = new Uint8Array(raw.length * 2);
    const starts = new Int32Array(raw.length + 1);
    let length = 0;
    raw.forEach((byte, i) => {
      starts[i] = length;
      const char = charOf[byte] ?? 0;
      if (char < 0x80) bytes[length++] = char;
      else {
        bytes[length++] = 0xc0 | (char >> 6);
        bytes[length++] = 0x80 | (char & 63);
      }
    });
    starts[raw.length] = length;
    if (this.#pre.ignoreMerges) {
      const whole = index.find(bytes, 0, length);
      if (whole >= 0) return [whole];
    }
    this.#mergeIndex ??= new StringIndex(this.#merges, "first");
    const merges = this.#mergeIndex;
    const count = yield* mergeSymbols(starts, raw.length, (from, middle, to) => {
      const rank = merges.findPair(bytes, from, middle, to);
      return rank < 0 ? Infinity : rank;
    });
    const ids: number[] = [];
    for (let i = 0; i < count; i++) {
      const from = starts[i] ?? 0;
      const to = starts[i + 1] ?? 0;
      const id = index.find(bytes, from, to);
      if (id >= 0) ids.push(id);
      else pushSingleBytes(index, bytes, from, to, ids);
    }
    return ids;
  }
}

/** A merge product that is no token falls apart into the bytes that are; the others are lost, as in llama.cpp. */
function pushSingleBytes(index: StringIndex, bytes: Uint8Array, from: number, to: number, ids: number[]): void {
  for (let i = from; i < to; i++) {
    const id = index.find(bytes, i, i + 1);
    if (id >= 0) ids.push(id);
  }
}

/** The bytes that a token's printable text stands for; characters outside the alphabet stand for themselves. */
export function decodeByteText(text: string): Uint8Array {
  const bytes: number[] = [];
  for (const char of text) {
    const byte = byteOf.get(char.codePointAt(0) ?? 0);
    if (byte === undefined) bytes.push(...encoder.encode(char));
    else bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}
