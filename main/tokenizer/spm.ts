/**
 * SentencePiece (`llama`): spaces become ▁, the characters of the whole text are merged by the
 * scores of the tokens they form, and characters that are no token are written as byte tokens
 * <0x00>…<0xFF>.
 */
import type { Steps } from "../ir/steps.ts";
import { characterStarts, mergeSymbols } from "./merge.ts";
import { byteText, bytesByKind, flag, framed, withSpaces } from "./rules.ts";
import type { TokenizerModel, TokenizerRules, TokenizerSource } from "./rules.ts";
import { Vocabulary, checkedTokens, scoresOf, tokenizerError } from "./vocabulary.ts";

export const sentencePiece: TokenizerModel = {
  id: "spm",
  title: "SentencePiece",
  names: ["llama"],
  check: ({ name, metadata }) => void scoresOf(name, metadata, checkedTokens(name, metadata).tokens.length),
  make,
};

function make(source: TokenizerSource): TokenizerRules {
  const { name, metadata } = source;
  const vocabulary = new Vocabulary(name, metadata, { bos: 1, eos: 2, unknown: 0 });
  const encoder = new SentencePieceEncoder(vocabulary, scoresOf(name, metadata, vocabulary.size));
  const addBos = flag(source, "add_bos_token", true);
  const addEos = flag(source, "add_eos_token", false);
  const addSpacePrefix = flag(source, "add_space_prefix", true);
  return {
    pre: "default",
    vocabulary,
    // A space stands before the text, and again behind every special token.
    encode: (text, out, isFirst) => encoder.encode(addSpacePrefix && isFirst ? ` ${text}` : text, out),
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

const encoder = new TextEncoder();
const UNTRIED = -2;

class SentencePieceEncoder {
  readonly #vocabulary: Vocabulary;
  readonly #scores: Float32Array;
  readonly #byteTokens = new Int32Array(256).fill(UNTRIED);

  constructor(vocabulary: Vocabulary, scores: Float32Array) {
    this.#vocabulary = vocabulary;
    this.#scores = scores;
  }

  *encode(text: string, out: number[]): Steps<void> {
    const bytes = encoder.encode(text.replaceAll(" ", "▁"));
    const { starts, count } = characterStarts(bytes);
    const { index } = this.#vocabulary;
    const scores = this.#scores;
    const kept = yield* mergeSymbols(starts, count, (from, _middle, to) => {
      const id = index.find(bytes, from, to);
      if (id < 0) return Infinity;
      const score = scores[id] ?? 0;
      // The heap needs an order, which a NaN from a damaged file would not give.
      return score === score ? Math.min(-score, Number.MAX_VALUE) : Number.MAX_VALUE;
    });
    for (let i = 0; i < kept; i++) {
      const from = starts[i] ?? 0;
      const to = starts[i + 1] ?? 0;
      const id = index.find(bytes, from, to);
      if (id >= 0) out.push(id);
      else for (let at = from; at < to; at++) out.push(this.#byteToken(bytes[at] ?? 0));
    }
  }

  #byteToken(byte: number): number {
    let id = this.#byteTokens[byte] ?? UNTRIED;
    if (id === UNTRIED) {
      id = this.#findByteToken(byte);
      this.#byteTokens[byte] = id;
    }
    return id;
  }

  #findByteToken(byte: number): number {
    const named = this.#vocabulary.idOf(byteText(byte));
    if (named !== undefined) return named;
    const bare = this.#vocabulary.index.find(Uint8Array.of(byte));
    const fallback = bare >= 0 ? bare : this.#vocabulary.special.unknown;
    if (fallback === undefined)
      throw tokenizerError(this.#vocabulary.file, `no token ${byteText(byte)}, and none for unknown text`);
    return fallback;
  }
}
