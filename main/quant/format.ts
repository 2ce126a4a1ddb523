/** What each file of this folder says about one packed type, and what several of them share. */
import type { CodedGroups } from "./coded.ts";

export interface PackedFormat {
  /** ggml's number of the type, as GGUF files carry it. */
  readonly ggml: number;
  /** Elements in a block, along the last axis. */
  readonly elements: number;
  /** Bytes of a block. */
  readonly bytes: number;
  /** The bytes of a block in order, for people: "f16 d · 16 bytes of nibbles". */
  readonly layout: string;
  /** Byte offsets of the f16 factors of a block. */
  readonly factors: readonly number[];
  /** Byte offsets of 8-bit exponents of a block. */
  readonly exponents?: readonly number[];
  /** Byte offsets of 8-bit floats without sign: 4 bits of exponent, 3 of mantissa. */
  readonly minifloats?: readonly number[];
  /**
   * Byte offsets of four 16-bit words whose top four bits are one f16 factor, lowest bits first.
   */
  readonly quarters?: readonly number[];
  /** Where every value is a whole number times a factor of its group. */
  readonly coded?: CodedGroups;
  /**
   * Unpacks `blocks` blocks from `bytes[from…]` to `out[to…]`, with ggml's bits: products and sums
   * are rounded to f32 in its order. The caller has checked both ranges.
   */
  readonly unpack: (bytes: Uint8Array, from: number, out: Float32Array, to: number, blocks: number) => void;
}

/** Bytes as signed numbers over the same memory. */
export const signed = (bytes: Uint8Array): Int8Array => new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export function u32At(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)) >>> 0
  );
}

/** Q4_K and Q5_K: the scales of groups 0-7, then the minimums of groups 0-7. */
export function unpackScales(bytes: Uint8Array, at: number, out: Uint8Array): void {
  for (let g = 0; g < 4; g++) {
    const scale = bytes[at + g] ?? 0;
    const minimum = bytes[at + 4 + g] ?? 0;
    const low = bytes[at + 8 + g] ?? 0;
    out[g] = scale & 63;
    out[8 + g] = minimum & 63;
    out[4 + g] = (low & 15) | ((scale >> 6) << 4);
    out[12 + g] = (low >> 4) | ((minimum >> 6) << 4);
  }
}

/** ggml's table for IQ4_NL (and IQ4_XS). */
export const IQ4_VALUES = Int8Array.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
