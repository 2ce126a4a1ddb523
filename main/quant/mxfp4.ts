/**
 * MXFP4: 32 values of four bits (sign, two bits of exponent, one of mantissa) times a power of two.
 * Value i is the low half of byte i, value i + 16 the high half. Codes are twice the values, which
 * makes them whole, and the factor is halved.
 */
import { codedFormat } from "./coded.ts";

export const FP4_TWICE = Int8Array.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);

export const mxfp4 = codedFormat(
  {
    ggml: 39,
    elements: 32,
    bytes: 17,
    layout: "8-bit exponent e: 2^(e − 127) · 16 bytes: two 4-bit floats each",
    factors: [],
    exponents: [0],
  },
  {
    group: 32,
    largest: 12,
    read(bytes, from, codes, to, factors, at) {
      factors[at] = 2 ** ((bytes[from] ?? 0) - 128);
      for (let i = 0; i < 16; i++) {
        const q = bytes[from + 1 + i] ?? 0;
        codes[to + i] = FP4_TWICE[q & 15] ?? 0;
        codes[to + 16 + i] = FP4_TWICE[q >> 4] ?? 0;
      }
    },
  },
);
