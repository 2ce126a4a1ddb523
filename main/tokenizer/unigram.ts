/**
 * Unigram (`t5`): a text is normalised by the file's character map, and falls into those tokens
 * whose scores have the highest sum. A character that is no token costs more than any token;
 * several such in a row are one unknown token.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Steps } from "../ir/steps.ts";
import { Charsmap } from "./charsmap.ts";
import { bytesByKind, flag, framed, withSpaces } from "./rules.ts";
import type { TokenizerModel, TokenizerRules, TokenizerSource } from "./rules.ts";
import { TokenTrie } from "./tokenTrie.ts";
import { Vocabulary, scoresOf, shortTokens } from "./vocabulary.ts";
import type { TokenKind } from "./vocabulary.ts";

export const unigram: TokenizerModel = {
  id: "unigram",
  title: "Unigram",
  names: ["t5"],
  check: ({ name, metadata }) => {
    scoresOf(name, metadata, shortTokens(name, metadata).tokens.length);
    Charsmap.of(name, metadata);
  },
  make,
};

function make(source: TokenizerSource): TokenizerRules {
  const { name, metadata } = source;
  shortTokens(name, metadata);
  const vocabulary = new Vocabulary(name, metadata, { bos: undefined, eos: 1, unknown: 2 });
  const addBos = flag(source, "add_bos_token", false);
  const addEos = flag(source, "add_eos_token", true);
  const addSpacePrefix = flag(source, "add_space_prefix", false);
  const encoder = new UnigramEncoder(vocabulary, {
    scores: scoresOf(name, metadata, vocabulary.size),
    charsmap: Charsmap.of(name, metadata),
    addSpacePrefix,
    mergeSpaces: flag(source, "remove_extra_whitespaces", false),
  });
  return {
    pre: "default",
    vocabulary,
    encode: (text, out) => encoder.encode(text, out),
    bytesOf: (id, kind) => bytesByKind(vocabulary, id, kind, withSpaces),
    before: framed(addBos && vocabulary.special.bos),
    behind: framed(addEos && vocabulary.special.eos),
    addBos,
    addEos,
    addSep: flag(source, "add_sep_token", false),
    addSpacePrefix,
    cleanSpaces: false,
    keepsText: true,
    warnings: [],
  };
}

interface UnigramRules {
  readonly scores: Float32Array;
  readonly charsmap: Charsmap | undefined;
  readonly addSpacePrefix: boolean;
  /** A row of spaces is one, and a text begins with one. */
  readonly mergeSpaces: boolean;
}

const utf8 = new TextEncoder();
const SPACE = 0x20;
const BAR = utf8.encode("▁");
const REPLACEMENT = utf8.encode("\ufffd");
/** How much worse than the worst token an unknown character is. */
const UNKNOWN_COST = 10;
/** Bytes that are looked at between two pauses. */
const PAUSE_BYTES = 1 << 20;
/** Of a normalised text. */
const MOST_BYTES = 1 << 26;

const isMatched = (kind: TokenKind): boolean => kind === "normal" || kind === "user" || kind === "unused";

class UnigramEncoder {
  readonly #vocabulary: Vocabulary;
  readonly #rules: UnigramRules;
  readonly #unknownScore: number;
  #tries: { readonly all: TokenTrie; readonly users: TokenTrie } | undefined;

  constructor(vocabulary: Vocabulary, rules: UnigramRules) {
    this.#vocabulary = vocabulary;
    this.#rules = rules;
    let worst = 3.4028234663852886e38;
    for (let id = 0; id < vocabulary.size; id++)
      if (vocabulary.fileKind(id) === "normal") worst = Math.min(worst, rules.scores[id] ?? 0);
    this.#unknownScore = Math.fround(worst - UNKNOWN_COST);
  }

  *encode(text: string, out: number[]): Steps<void> {
    const vocabulary = this.#vocabulary;
    this.#tries ??= {
      all: new TokenTrie(vocabulary.tokens, (id) => isMatched(vocabulary.fileKind(id))),
      users: new TokenTrie(vocabulary.tokens, (id) => vocabulary.fileKind(id) === "user"),
    };
    const bytes = yield* this.#normalised(utf8.encode(text), this.#tries.users);
    if (bytes.length > 0) this.#pushBest(yield* this.#bestTokens(bytes, this.#tries.all), out);
  }

  /**
   * What begins like a user-defined token stays as it is; the rest goes through the character map.
   */
  *#normalised(text: Uint8Array, users: TokenTrie): Steps<Uint8Array> {
    const out = new SpacedBytes(text.length, this.#rules);
    let seen = 0;
    for (let at = 0; at < text.length;) {
      const asIs = users.walk(text, at, text.length, () => undefined);
      const replacement = asIs > 0 ? undefined : this.#rules.charsmap?.find(text, at);
      const length = replacement?.replaced ?? (asIs > 0 ? asIs : characterLength(text[at] ?? 0));
      if (replacement !== undefined) out.push(this.#rules.charsmap?.bytes ?? text, replacement.from, replacement.to);
      else if (asIs === 0 && isContinuation(text[at])) out.push(REPLACEMENT, 0, REPLACEMENT.length);
      else out.push(text, at, at + length);
      if (out.length > MOST_BYTES)
        throw new WorkbenchError(
          "INPUT_LIMIT",
          `[${this.#vocabulary.file}] tokenizer: the normalised text is too long`,
          {
            hint: "Split the text.",
          },
        );
      at += length;
      seen += length + asIs + 1;
      if (seen < PAUSE_BYTES) continue;
      seen = 0;
      yield;
    }
    return out.bytes();
  }

  /** For each place the token that the best way to it ends with, and where that token begins. */
  *#bestTokens(bytes: Uint8Array, trie: TokenTrie): Steps<BestTokens> {
    const vocabulary = this.#vocabulary;
    const { scores } = this.#rules;
    const size = bytes.length;
    const best = { ids: new Int32Array(size + 1), starts: new Int32Array(size + 1), size };
    const sums = new Float64Array(size + 1).fill(-Number.MAX_VALUE);
    const unknown = vocabulary.special.unknown ?? NONE;
    best.ids.fill(unknown);
    sums[0] = 0;
    let seen = 0;
    for (let at = 0; at < size;) {
      const sum = sums[at] ?? 0;
      const offer = (id: number, end: number, score: number): void => {
        if (!(sum + score > (sums[end] ?? 0))) return;
        sums[end] = sum + score;
        best.ids[end] = id;
        best.starts[end] = at;
      };
      const next = Math.min(size, at + characterLength(bytes[at] ?? 0));
      let isWhole = false;
      seen += trie.walk(bytes, at, size, (id, end) => {
        isWhole ||= end === next;
        offer(id, end, vocabulary.fileKind(id) === "user" ? 0 : (scores[id] ?? 0));
      });
      if (!isWhole) offer(unknown, next, this.#unknownScore);
      at = next;
      if (++seen < PAUSE_BYTES) continue;
      seen = 0;
      yield;
    }
    return best;
  }

  #pushBest({ ids, starts, size }: BestTokens, out: number[]): void {
    const first = out.length;
    const unknown = this.#vocabulary.special.unknown ?? NONE;
    let wasUnknown = false;
    for (let at = size; at > 0; at = starts[at] ?? 0) {
      const id = ids[at] ?? NONE;
      const isUnknown = id === unknown;
      if (id !== NONE && !(isUnknown && wasUnknown)) out.push(id);
      wasUnknown = isUnknown;
    }
    const found = out.splice(first).reverse();
    for (const id of found) out.push(id);
  }
}

interface BestTokens {
  readonly ids: Int32Array;
  readonly starts: Int32Array;
  readonly size: number;
}

/** No token at all: the file has none for unknown text. */
const NONE = -1;

const isContinuation = (byte: number | undefined): boolean => ((byte ?? 0) & 0xc0) === 0x80;

/** By its first byte. */
const characterLength = (first: number): number => (first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4);

/** Bytes with ▁ for spaces: one before the first word, and perhaps one for each row of them. */
class SpacedBytes {
  length = 0;
  readonly #rules: UnigramRules;
  #bytes: Uint8Array;
  #isPrefixed = false;
  #isInWord = false;

  constructor(expected: number, rules: UnigramRules) {
    this.#rules = rules;
    this.#bytes = new Uint8Array(expected * 2 + 16);
  }

  push(bytes: Uint8Array, from: number, to: number): void {
    this.#reserve((to - from) * 6);
    const { addSpacePrefix, mergeSpaces } = this.#rules;
    for (let at = from; at < to; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === SPACE) {
        this.#isInWord = false;
        if (!mergeSpaces) this.#pushBar();
        continue;
      }
      if (!this.#isInWord && (mergeSpaces || (addSpacePrefix && !this.#isPrefixed))) {
        this.#pushBar();
        this.#isPrefixed = true;
      }
      this.#isInWord = true;
      this.#bytes[this.length++] = byte;
    }
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  #pushBar(): void {
    for (const byte of BAR) this.#bytes[this.length++] = byte;
  }

  #reserve(more: number): void {
    if (this.length + more <= this.#bytes.length) return;
    const grown = new Uint8Array((this.length + more) * 2);
    grown.set(this.bytes());
    this.#bytes = grown;
  }
}
