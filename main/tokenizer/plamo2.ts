/**
 * PLaMo 2 (`plamo2`): a text falls into those tokens whose scores have the highest sum, counted
 * from its end. A character may also be written as byte tokens <0x00>…<0xFF>, at a high cost.
 */
import type { Steps } from "../ir/steps.ts";
import { byteOfText, byteText, flag } from "./rules.ts";
import type { TokenizerModel, TokenizerRules, TokenizerSource } from "./rules.ts";
import { TokenTrie } from "./tokenTrie.ts";
import { Vocabulary, scoresOf, shortTokens, tokenizerError } from "./vocabulary.ts";

export const plamo2: TokenizerModel = {
  id: "plamo2",
  title: "PLaMo 2",
  names: ["plamo2"],
  check: (source) => {
    scoresOf(source.name, source.metadata, shortTokens(source.name, source.metadata).tokens.length);
    byteTokens(source);
  },
  make,
};

function make(source: TokenizerSource): TokenizerRules {
  const { name, metadata } = source;
  shortTokens(name, metadata);
  const vocabulary = new Vocabulary(name, metadata, { bos: 1, eos: 2, unknown: 0 });
  const encoder = new Plamo2Encoder(vocabulary, scoresOf(name, metadata, vocabulary.size), byteTokens(source));
  return {
    pre: "default",
    vocabulary,
    encode: (text, out) => encoder.encode(text, out),
    bytesOf: (id, kind) => {
      const byte = kind === "byte" ? byteOfText(vocabulary.tokens.textAt(id)) : undefined;
      return byte === undefined ? vocabulary.tokens.bytesAt(id).slice() : Uint8Array.of(byte);
    },
    // llama.cpp adds none, whatever the file says.
    before: [],
    behind: [],
    addBos: flag(source, "add_bos_token", false),
    addEos: flag(source, "add_eos_token", false),
    addSep: flag(source, "add_sep_token", false),
    addSpacePrefix: flag(source, "add_space_prefix", false),
    cleanSpaces: false,
    keepsText: true,
    warnings: [],
  };
}

/** The token for each byte. */
function byteTokens({ name, metadata }: TokenizerSource): Int32Array {
  const { tokens, kinds } = shortTokens(name, metadata);
  const found = new Int32Array(256);
  for (let id = 0; id < tokens.length; id++) {
    const byte = kinds[id] === BYTE ? byteOfText(tokens.textAt(id)) : undefined;
    if (byte !== undefined) found[byte] = id;
  }
  // The first token is the unknown one, so 0 is none.
  const missing = found.indexOf(0);
  if (missing >= 0) throw tokenizerError(name, `no token ${byteText(missing)}`);
  return found;
}
/** The kind in the file. */
const BYTE = 6;

const utf8 = new TextEncoder();
const SCALE = 1e4;
/**
 * What a character costs that is written in bytes; a token that costs twice as much is never taken.
 */
const UNKNOWN = -1e7;
const NEVER = -2e7;
const LOWEST = -(2 ** 31);
const BYTES = -1;
/** Bytes that are looked at between two pauses. */
const PAUSE_BYTES = 1 << 20;

class Plamo2Encoder {
  readonly #vocabulary: Vocabulary;
  readonly #scores: Float32Array;
  readonly #byteTokens: Int32Array;
  #trie: TokenTrie | undefined;

  constructor(vocabulary: Vocabulary, scores: Float32Array, byteTokens: Int32Array) {
    this.#vocabulary = vocabulary;
    this.#scores = scores;
    this.#byteTokens = byteTokens;
  }

  *encode(text: string, out: number[]): Steps<void> {
    // A mark for the order of bytes is no part of the text.
    const bytes = utf8.encode(text.startsWith("\ufeff") ? text.slice(1) : text);
    const { ids, ends } = yield* this.#bestTokens(bytes);
    for (let at = 0; at < bytes.length;) {
      const id = ids[at] ?? BYTES;
      const end = ends[at] ?? bytes.length;
      if (id !== BYTES) out.push(id);
      else for (let i = at; i < end; i++) out.push(this.#byteTokens[bytes[i] ?? 0] ?? 0);
      at = end;
    }
  }

  /** For each character the token that the best way on begins with, and where it ends. */
  *#bestTokens(bytes: Uint8Array): Steps<{ readonly ids: Int32Array; readonly ends: Int32Array }> {
    const vocabulary = this.#vocabulary;
    const trie = (this.#trie ??= new TokenTrie(vocabulary.tokens, (id) => vocabulary.fileKind(id) !== "byte"));
    const costs = new Float64Array(bytes.length + 1);
    const ids = new Int32Array(bytes.length).fill(BYTES);
    const ends = new Int32Array(bytes.length);
    const found: number[] = [];
    let seen = 0;
    for (let at = bytes.length - 1, next = bytes.length; at >= 0; at--) {
      if (isContinuation(bytes[at])) continue;
      found.length = 0;
      seen +=
        1 +
        trie.walk(bytes, at, bytes.length, (id, end) => {
          if (!isContinuation(bytes[end])) found.push(id, end);
        });
      costs[at] = Infinity;
      const offer = (id: number, end: number, score: number): void => {
        const cost = (costs[end] ?? 0) - score;
        if (cost >= (costs[at] ?? 0)) return;
        costs[at] = cost;
        ids[at] = id;
        ends[at] = end;
      };
      // The longest of equals wins.
      for (let i = found.length - 2; i >= 0; i -= 2) {
        const id = found[i] ?? 0;
        const score = scaled(this.#scores[id] ?? 0);
        if (score > NEVER) offer(id, found[i + 1] ?? 0, score);
      }
      offer(BYTES, next, UNKNOWN);
      next = at;
      if (seen < PAUSE_BYTES) continue;
      seen = 0;
      yield;
    }
    return { ids, ends };
  }
}

/** Scores are compared as whole numbers of 32 bits. */
function scaled(score: number): number {
  const rounded = Math.sign(score) * Math.round(Math.abs(score) * SCALE);
  return Number.isFinite(rounded) && Math.abs(rounded) < -LOWEST ? rounded : LOWEST;
}

const isContinuation = (byte: number | undefined): boolean => ((byte ?? 0) & 0xc0) === 0x80;
