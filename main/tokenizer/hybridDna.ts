/**
 * Texts with DNA in them (`hybriddna`): between <dna> and </dna> six letters at a time are one
 * token, the rest is BPE. The vocabulary marks the tokens of DNA at their end, so that they are not
 * taken for words.
 */
import type { Steps } from "../ir/steps.ts";
import type { Vocabulary } from "./vocabulary.ts";

const OPEN = "<dna>";
const CLOSE = "</dna>";
const UNKNOWN = "<oov>";
const MARK = "\ue000";
const LETTERS = 6;
/** Tokens between two pauses. */
const PAUSE_EVERY = 1 << 16;

const encoder = new TextEncoder();
const mark = encoder.encode(MARK);

/** Undefined when the vocabulary has no tokens for DNA. */
export function dnaOf(vocabulary: Vocabulary): Dna | undefined {
  const [open, close, unknown] = [OPEN, CLOSE, UNKNOWN].map((text) => vocabulary.idOf(text));
  if (open === undefined || close === undefined || unknown === undefined) return undefined;
  return new Dna(vocabulary, open, close, unknown);
}

class Dna {
  readonly #vocabulary: Vocabulary;
  readonly #open: number;
  readonly #close: number;
  readonly #unknown: number;

  constructor(vocabulary: Vocabulary, open: number, close: number, unknown: number) {
    this.#vocabulary = vocabulary;
    this.#open = open;
    this.#close = close;
    this.#unknown = unknown;
  }

  *encode(text: string, out: number[], words: (text: string) => Steps<void>): Steps<void> {
    for (let at = 0; at < text.length;) {
      const start = text.indexOf(OPEN, at);
      const before = text.slice(at, start < 0 ? undefined : start);
      if (before !== "") yield* words(before);
      if (start < 0) return;
      out.push(this.#open);
      const end = text.indexOf(CLOSE, start + OPEN.length);
      yield* this.#pushLetters(text.slice(start + OPEN.length, end < 0 ? undefined : end), out);
      if (end < 0) return;
      out.push(this.#close);
      at = end + CLOSE.length;
    }
  }

  /** The last letters are filled up with A. */
  *#pushLetters(text: string, out: number[]): Steps<void> {
    const letters = encoder.encode(text.replaceAll(/[a-z]/gu, (letter) => letter.toUpperCase()));
    const word = new Uint8Array(LETTERS + mark.length);
    word.set(mark, LETTERS);
    let count = 0;
    for (let at = 0; at < letters.length; at += LETTERS) {
      if (++count % PAUSE_EVERY === 0) yield;
      for (let i = 0; i < LETTERS; i++) word[i] = letters[at + i] ?? A;
      const id = this.#vocabulary.index.find(word);
      out.push(id < 0 ? this.#unknown : id);
    }
  }

  /** Tokens of DNA stand behind the unknown one; their mark is not shown. */
  shown(id: number, text: string): string {
    return id > this.#unknown && text.length > MARK.length && text.endsWith(MARK) ? text.slice(0, -MARK.length) : text;
  }
}
const A = 0x41;
