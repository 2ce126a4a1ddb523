/**
 * Q3_K: the groups of Q2_K with signed 6-bit scales and no minimum: x = (d · (sc − 32)) · (q −
 * (high bit ? 0 : 4)). Its 16 scales lie in 12 bytes: scale s has its low four bits in byte s mod 8
 * (upper nibble when s ≥ 8) and its high two bits in byte 8 + s mod 4, at bit 2·⌊s / 4⌋.
 *
 * The two low bits lie as in Q2_K.
 */
import { codedFormat } from "./coded.ts";
import { f16At } from "./half.ts";

export const q3_k = codedFormat(
  {
    ggml: 11,
    elements: 256,
    bytes: 110,
    layout: "32 bytes of high bits · 64 bytes: four 2-bit q each · 12 bytes: 16 × 6-bit scale · f16 d",
    factors: [108],
  },
  {
    group: 16,
    largest: 4,
    read(bytes, from, codes, to, factors, at) {
      const d = f16At(bytes, from + 108);
      for (let g = 0; g < 16; g++) {
        const nibble = ((bytes[from + 96 + (g & 7)] ?? 0) >> ((g >> 3) * 4)) & 15;
        const pair = ((bytes[from + 104 + (g & 3)] ?? 0) >> ((g >> 2) * 2)) & 3;
        factors[at + g] = d * ((nibble | (pair << 4)) - 32);
        const shift = ((g >> 1) & 3) * 2;
        const column = (g & 1) * 16;
        const low = from + 32 + (g >> 3) * 32 + column;
        for (let i = 0; i < 16; i++) {
          const high = ((bytes[from + column + i] ?? 0) >> (g >> 1)) & 1;
          codes[to++] = (((bytes[low + i] ?? 0) >> shift) & 3) - 4 * (1 - high);
        }
      }
    },
  },
);
