/**
 * IQ4_XS: 256 values in 8 groups of 32 with a signed 6-bit scale each: x = (d · (sc − 32)) ·
 * table[q]. Scale g has its low four bits in nibble g of four bytes and its high two bits at bit 2g
 * of a 16-bit word.
 */
import { IQ4_VALUES } from "./format.ts";
import type { PackedFormat } from "./format.ts";
import { f16At } from "./half.ts";

const fround = Math.fround;

export const iq4_xs: PackedFormat = {
  ggml: 23,
  elements: 256,
  bytes: 136,
  layout:
    "f16 d · u16: high two bits of 8 scales · 4 bytes: their low four bits · 128 bytes: two 4-bit table indices each",
  factors: [0],
  unpack(bytes, from, out, to, blocks) {
    for (let b = 0; b < blocks; b++, from += 136) {
      const d = f16At(bytes, from);
      const high = (bytes[from + 2] ?? 0) | ((bytes[from + 3] ?? 0) << 8);
      for (let group = 0; group < 8; group++, to += 32) {
        const low = ((bytes[from + 4 + (group >> 1)] ?? 0) >> (4 * (group & 1))) & 15;
        const factor = fround(d * ((low | (((high >> (2 * group)) & 3) << 4)) - 32));
        for (let i = 0; i < 16; i++) {
          const q = bytes[from + 8 + 16 * group + i] ?? 0;
          out[to + i] = factor * (IQ4_VALUES[q & 15] ?? 0);
          out[to + 16 + i] = factor * (IQ4_VALUES[q >> 4] ?? 0);
        }
      }
    }
  },
};
