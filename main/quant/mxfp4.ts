/**
 * MXFP4: 32 values of four bits (sign, two bits of exponent, one of mantissa) times a power of two.
 * Value i is the low half of byte i, value i + 16 the high half. The table holds twice the values,
 * which makes them whole, and the factor is halved.
 */
import type { PackedFormat } from "./format.ts";

const VALUES = Int8Array.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);

export const mxfp4: PackedFormat = {
  ggml: 39,
  elements: 32,
  bytes: 17,
  layout: "8-bit exponent e: 2^(e − 127) · 16 bytes: two 4-bit floats each",
  factors: [],
  exponents: [0],
  unpack(bytes, from, out, to, blocks) {
    for (let b = 0; b < blocks; b++, from += 17, to += 32) {
      const factor = 2 ** ((bytes[from] ?? 0) - 128);
      for (let i = 0; i < 16; i++) {
        const q = bytes[from + 1 + i] ?? 0;
        out[to + i] = (VALUES[q & 15] ?? 0) * factor;
        out[to + 16 + i] = (VALUES[q >> 4] ?? 0) * factor;
      }
    }
  },
};
