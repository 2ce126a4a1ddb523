/**
 * IQ2_XXS: 8 groups of 32, x = (d · (½ + scale) / 4) · code. A group has four bytes, each the place
 * of eight values in a table, and 32 bits: four times seven signs, then its 4-bit scale.
 */
import { codedFormat } from "./coded.ts";
import { u32At } from "./format.ts";
import { eightSigns, grid, signedEntry } from "./grid.ts";
import { f16At } from "./half.ts";

export const iq2_xxs = codedFormat(
  {
    ggml: 16,
    elements: 256,
    bytes: 66,
    layout: "f16 d · 8 × (4 table places · u32: 4 × 7 signs, 4-bit scale)",
    factors: [0],
  },
  {
    group: 32,
    largest: 43,
    read(bytes, from, codes, to, factors, at) {
      const table = grid("iq2_xxs");
      const d = f16At(bytes, from);
      for (let g = 0; g < 8; g++) {
        const places = from + 2 + 8 * g;
        const rest = u32At(bytes, places + 4);
        factors[at + g] = d * (0.5 + (rest >>> 28)) * 0.25;
        for (let l = 0; l < 4; l++, to += 8)
          signedEntry(table, 8 * (bytes[places + l] ?? 0), eightSigns((rest >>> (7 * l)) & 127), codes, to, 8);
      }
    },
  },
);
