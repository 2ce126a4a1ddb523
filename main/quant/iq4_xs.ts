/**
 * IQ4_XS: 256 values in 8 groups of 32 with a signed 6-bit scale each: x = (d · (sc − 32)) ·
 * table[q]. Scale g has its low four bits in nibble g of four bytes and its high two bits at bit 2g
 * of a 16-bit word.
 */
import { codedFormat } from "./coded.ts";
import { IQ4_VALUES } from "./format.ts";
import { f16At } from "./half.ts";

export const iq4_xs = codedFormat(
  {
    ggml: 23,
    elements: 256,
    bytes: 136,
    layout:
      "f16 d · u16: high two bits of 8 scales · 4 bytes: their low four bits · 128 bytes: two 4-bit table indices each",
    factors: [0],
  },
  {
    group: 32,
    largest: 127,
    read(bytes, from, codes, to, factors, at) {
      const d = f16At(bytes, from);
      const high = (bytes[from + 2] ?? 0) | ((bytes[from + 3] ?? 0) << 8);
      for (let g = 0; g < 8; g++, to += 32) {
        const low = ((bytes[from + 4 + (g >> 1)] ?? 0) >> (4 * (g & 1))) & 15;
        factors[at + g] = d * ((low | (((high >> (2 * g)) & 3) << 4)) - 32);
        for (let i = 0; i < 16; i++) {
          const q = bytes[from + 8 + 16 * g + i] ?? 0;
          codes[to + i] = IQ4_VALUES[q & 15] ?? 0;
          codes[to + 16 + i] = IQ4_VALUES[q >> 4] ?? 0;
        }
      }
    },
  },
);
