/** IQ4_NL: blocks like Q4_0, but the nibble is an index into a fixed table of 16 unevenly spaced values. x = d · table[q] */
import { f16At } from "../../ir/half.ts";
import type { BlockFormat } from "./format.ts";

/** ggml's table for IQ4_NL (and IQ4_XS). */
export const IQ4_VALUES = Int8Array.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);

export const iq4_nl: BlockFormat = {
  type: "iq4_nl",
  blockSize: 32,
  blockBytes: 18,
  layout: "f16 d · 16 bytes: two 4-bit table indices each",
  dequantize(bytes, from, out, to, blocks) {
    for (let b = 0; b < blocks; b++, from += 18, to += 32) {
      const d = f16At(bytes, from);
      for (let i = 0; i < 16; i++) {
        const q = bytes[from + 2 + i] ?? 0;
        out[to + i] = d * (IQ4_VALUES[q & 15] ?? 0);
        out[to + 16 + i] = d * (IQ4_VALUES[q >> 4] ?? 0);
      }
    }
  },
};
