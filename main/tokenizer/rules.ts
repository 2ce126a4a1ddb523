/**
 * What a tokenizer model says of itself. Each model is one file with a `TokenizerModel`, listed in
 * models.ts; tokenizer.ts makes a tokenizer of its rules.
 */
import type { Metadata } from "../formats/gguf/metadata.ts";
import type { Steps } from "../ir/steps.ts";
import type { TokenKind, Vocabulary } from "./vocabulary.ts";

/** What the tokenizer is made from: a GGUF file fits. */
export interface TokenizerSource {
  readonly name: string;
  readonly metadata: Metadata;
}

export interface TokenizerModel {
  readonly id: string;
  /** As people call it. */
  readonly title: string;
  /** Its names in `tokenizer.ggml.model`. */
  readonly names: readonly string[];
  /** Throws what `make` would throw, but makes nothing that is large. */
  readonly check: (source: TokenizerSource) => void;
  readonly make: (source: TokenizerSource) => TokenizerRules;
}

export interface TokenizerRules {
  /** The pre-tokenizer's name; "default" where there is none to choose. */
  readonly pre: string;
  readonly vocabulary: Vocabulary;
  /**
   * Appends the ids of a text without special tokens. `isFirst`: the text begins here, or a special
   * token stands before it.
   */
  readonly encode: (text: string, out: number[], isFirst: boolean) => Steps<void>;
  /** The bytes of a token that is shown: all but control and unknown ones. */
  readonly bytesOf: (id: number, kind: TokenKind) => Uint8Array;
  /** What stands before and behind a text. */
  readonly before: readonly number[];
  readonly behind: readonly number[];
  readonly addBos: boolean;
  readonly addEos: boolean;
  /** A separator stands between the two texts of a pair. */
  readonly addSep: boolean;
  /** A text begins with a space that the rules put there. */
  readonly addSpacePrefix: boolean;
  /** Spaces before punctuation and contractions are put there by the rules: "a , b" was "a, b". */
  readonly cleanSpaces: boolean;
  /**
   * The text of any ids is the text they were made from, so that it is not cleaned without being
   * asked for.
   */
  readonly keepsText: boolean;
  readonly warnings: readonly string[];
}

export const flag = ({ metadata }: TokenizerSource, name: string, otherwise: boolean): boolean =>
  metadata.optionalBool(`tokenizer.ggml.${name}`) ?? otherwise;

/** The tokens that frame a text, as far as the file has them. */
export const framed = (...ids: readonly (number | false | undefined)[]): readonly number[] =>
  ids.filter((id) => typeof id === "number");

const NOTHING = new Uint8Array(0);

/** The bytes of a token of a vocabulary with byte tokens (<0x0A>): most models. */
export function bytesByKind(
  { tokens }: Vocabulary,
  id: number,
  kind: TokenKind,
  normal: (text: string) => Uint8Array,
): Uint8Array {
  switch (kind) {
    case "normal":
      return normal(tokens.textAt(id));
    case "byte": {
      const byte = byteOfText(tokens.textAt(id));
      return byte === undefined ? NOTHING : Uint8Array.of(byte);
    }
    case "user":
    case "control":
    case "unknown":
      return tokens.bytesAt(id).slice();
    case "unused":
    case "undefined":
      return NOTHING;
  }
}

const encoder = new TextEncoder();

/** Spaces are written as ▁ in these vocabularies. */
export const withSpaces = (text: string): Uint8Array => encoder.encode(text.replaceAll("▁", " "));

const BYTE_TEXT = /^<0x([0-9A-Fa-f]{2})>$/u;

/** The byte a token such as <0x0A> stands for. */
export function byteOfText(text: string): number | undefined {
  const match = BYTE_TEXT.exec(text);
  return match?.[1] === undefined ? undefined : Number.parseInt(match[1], 16);
}

/** The token for a byte: <0x0A>. */
export const byteText = (byte: number): string => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
