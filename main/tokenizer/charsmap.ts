/**
 * The normalisation that a Unigram file brings along (`precompiled_charsmap`): a double array of
 * the texts that are replaced, and the replacements, each ended by a zero byte. An entry of the
 * array holds the byte that leads to it (bits 0 to 7), whether a text ends there (bit 8) and the
 * distance to its children (bits 10 to 30, in 256s when bit 9 is set); the entry of a text's end
 * holds where its replacement begins (bit 31 is set).
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Metadata } from "../formats/gguf/metadata.ts";
import { tokenizerError } from "./vocabulary.ts";

const KEY = "tokenizer.ggml.precompiled_charsmap";
/** Real ones replace texts of at most some twenty bytes by at most 33. */
const LONGEST_TEXT = 256;
const LONGEST_REPLACEMENT = 1 << 12;

export interface Replacement {
  /** Where it lies in the map's bytes. */
  readonly from: number;
  readonly to: number;
  /** Bytes of the text that it replaces. */
  readonly replaced: number;
}

export class Charsmap {
  readonly bytes: Uint8Array;
  readonly #file: string;
  readonly #view: DataView;
  readonly #entries: number;
  readonly #replacements: number;

  constructor(file: string, bytes: Uint8Array) {
    this.#file = file;
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const size = bytes.length < 4 ? Infinity : this.#view.getUint32(0, true);
    if (size + 4 >= bytes.length) throw this.#broken();
    this.#entries = Math.floor(size / 4);
    this.#replacements = 4 + size;
  }

  static of(file: string, metadata: Metadata): Charsmap | undefined {
    const value = metadata.get(KEY);
    if (value === undefined) return undefined;
    if (value.kind !== "fixedArray" || (value.array.type !== "u8" && value.array.type !== "i8"))
      throw tokenizerError(file, "the character map is no array of bytes");
    return new Charsmap(file, value.array.bytes);
  }

  /** For the longest text of the map that the bytes begin with at this place. */
  find(text: Uint8Array, from: number): Replacement | undefined {
    if (this.#entries === 0) return undefined;
    let node = this.#childrenOf(0);
    let [replaced, value] = [0, 0];
    const end = Math.min(text.length, from + LONGEST_TEXT);
    for (let at = from; at < end; at++) {
      const byte = text[at] ?? 0;
      if (byte === 0) break;
      node = (node ^ byte) >>> 0;
      const entry = this.#entryAt(node);
      if (entry >>> 31 !== 0 || (entry & 0xff) !== byte) break;
      node = (node ^ this.#childrenOf(node)) >>> 0;
      if (((entry >>> 8) & 1) === 0) continue;
      replaced = at + 1 - from;
      value = this.#entryAt(node) & 0x7fffffff;
    }
    return replaced === 0 ? undefined : this.#replacementAt(value, replaced);
  }

  #replacementAt(value: number, replaced: number): Replacement {
    const from = this.#replacements + value;
    const to = this.bytes.indexOf(0, from);
    if (from >= this.bytes.length || to < 0) throw this.#broken();
    if (to - from > LONGEST_REPLACEMENT)
      throw new WorkbenchError(
        "INPUT_LIMIT",
        `[${this.#file}] tokenizer: got a replacement of ${to - from} bytes, expected at most ${LONGEST_REPLACEMENT}`,
        { hint: "No known model has one this long; the file is probably damaged." },
      );
    return { from, to, replaced };
  }

  /** The distance to the children of an entry. */
  #childrenOf(node: number): number {
    const entry = this.#entryAt(node);
    return ((entry >>> 10) << ((entry & 0x200) >>> 6)) >>> 0;
  }

  #entryAt(node: number): number {
    if (node >= this.#entries) throw this.#broken();
    return this.#view.getUint32(4 + node * 4, true);
  }

  #broken(): WorkbenchError {
    return tokenizerError(this.#file, "the character map points beyond its end");
  }
}
