/**
 * IQ4_NL: blocks like Q4_0, but the nibble is an index into a fixed table of 16 unevenly spaced
 * values. x = d · table[q]
 */
import { codedFormat } from "./coded.ts";
import { IQ4_VALUES } from "./format.ts";
import { f16At } from "./half.ts";

export const iq4_nl = codedFormat(
  { ggml: 20, elements: 32, bytes: 18, layout: "f16 d · 16 bytes: two 4-bit table indices each", factors: [0] },
  {
    group: 32,
    largest: 127,
    read(bytes, from, codes, to, factors, at) {
      factors[at] = f16At(bytes, from);
      for (let i = 0; i < 16; i++) {
        const q = bytes[from + 2 + i] ?? 0;
        codes[to + i] = IQ4_VALUES[q & 15] ?? 0;
        codes[to + 16 + i] = IQ4_VALUES[q >> 4] ?? 0;
      }
    },
  },
);
