/**
 * IQ3_XXS: 8 groups of 32, x = (d · (½ + scale) / 2) · code. Four values are a byte: their place in
 * a table. The 32 bits of a group (four times seven signs, then its 4-bit scale) come behind all
 * places.
 */
import { codedFormat } from "./coded.ts";
import { u32At } from "./format.ts";
import { eightSigns, grid, signedEntry } from "./grid.ts";
import { f16At } from "./half.ts";

export const iq3_xxs = codedFormat(
  {
    ggml: 18,
    elements: 256,
    bytes: 98,
    layout: "f16 d · 64 table places · 8 × u32: 4 × 7 signs, 4-bit scale",
    factors: [0],
  },
  {
    group: 32,
    largest: 62,
    read(bytes, from, codes, to, factors, at) {
      const table = grid("iq3_xxs");
      const d = f16At(bytes, from);
      for (let g = 0; g < 8; g++) {
        const rest = u32At(bytes, from + 66 + 4 * g);
        factors[at + g] = d * (0.5 + (rest >>> 28)) * 0.5;
        for (let four = 0; four < 8; four++, to += 4) {
          const signs = eightSigns((rest >>> (7 * (four >> 1))) & 127) >> (4 * (four & 1));
          signedEntry(table, 4 * (bytes[from + 2 + 8 * g + four] ?? 0), signs, codes, to, 4);
        }
      }
    },
  },
);
