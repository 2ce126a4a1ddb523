/**
 * IQ2_XS: 16 groups of 16, x = (d · (½ + scale) / 4) · code. Eight values are 16 bits: nine for
 * their place in a table, seven signs. The 4-bit scales come last, two in a byte.
 */
import { codedFormat } from "./coded.ts";
import { eightSigns, grid, signedEntry } from "./grid.ts";
import { f16At } from "./half.ts";

export const iq2_xs = codedFormat(
  {
    ggml: 17,
    elements: 256,
    bytes: 74,
    layout: "f16 d · 32 × u16: 9-bit table place, 7 signs · 8 bytes: two 4-bit scales each",
    factors: [0],
  },
  {
    group: 16,
    largest: 43,
    read(bytes, from, codes, to, factors, at) {
      const table = grid("iq2_xs");
      const d = f16At(bytes, from);
      for (let g = 0; g < 16; g++) {
        const scale = ((bytes[from + 66 + (g >> 1)] ?? 0) >> (4 * (g & 1))) & 15;
        factors[at + g] = d * (0.5 + scale) * 0.25;
        for (let l = 0; l < 2; l++, to += 8) {
          const word = from + 2 + 2 * (2 * g + l);
          const q = (bytes[word] ?? 0) | ((bytes[word + 1] ?? 0) << 8);
          signedEntry(table, 8 * (q & 511), eightSigns(q >> 9), codes, to, 8);
        }
      }
    },
  },
);
