/**
 * SentencePiece (`llama`): spaces become ▁, the characters of the whole text are merged by the
 * scores of the tokens they form, and characters that are no token are written as byte tokens
 * <0x00>…<0xFF>.
 */
import type { Metadata } from "../formats/gguf/metadata.ts";
import type { Steps } from "../ir/steps.ts";
import { mergeSymbols } from "./merge.ts";
import { tokenizerError } from "./vocabulary.ts";
import type { Vocabulary } from "./vocabulary.ts";

const encoder = new TextEncoder();
const UNTRIED = -2;

export class SentencePieceEncoder {
  readonly #vocabulary: Vocabulary;
  readonly #scores: Float32Array;
  readonly #byteTokens = new Int32Array(256).fill(UNTRIED);

  constructor(vocabulary: Vocabulary, scores: Float32Array) {
    this.#vocabulary = vocabulary;
    this.#scores = scores;
  }

  *encode(text: string, out: number[]): Steps<void> {
    const bytes = encoder.encode(text.replaceAll(" ", "▁"));
    const starts = new Int32Array(bytes.length + 1);
    let count = 0;
    // A character begins at every byte that is no continuation.
    bytes.forEach((byte, at) => {
      if ((byte & 0xc0) !== 0x80) starts[count++] = at;
    });
    starts[count] = bytes.length;
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
    const hex = byte.toString(16).toUpperCase().padStart(2, "0");
    const named = this.#vocabulary.idOf(`<0x${hex}>`);
    if (named !== undefined) return named;
    const bare = this.#vocabulary.index.find(Uint8Array.of(byte));
    const fallback = bare >= 0 ? bare : this.#vocabulary.special.unknown;
    if (fallback === undefined)
      throw tokenizerError(this.#vocabulary.file, `no token for byte 0x${hex}, and none for unknown text`);
    return fallback;
  }
}

/** One score for each token; 0 where the file has none. */
export function scoresOf(file: string, metadata: Metadata, size: number): Float32Array {
  const scores = metadata.optionalFloats("tokenizer.ggml.scores") ?? new Float32Array(size);
  if (scores.length !== size) throw tokenizerError(file, `got ${scores.length} scores for ${size} tokens`);
  return scores;
}

const BYTE_TEXT = /^<0x([0-9A-Fa-f]{2})>$/u;

/** The byte a token such as <0x0A> stands for. */
export function byteOfText(text: string): number | undefined {
  const match = BYTE_TEXT.exec(text);
  return match?.[1] === undefined ? undefined : Number.parseInt(match[1], 16);
}
