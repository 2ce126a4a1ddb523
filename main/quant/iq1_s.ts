/**
 * IQ1_S: 8 groups of 32, x = (d · (2 · scale + 1)) · (t ± ⅛) with t of −1, 0, 1 from a table: here
 * an eighth of the factor, and codes 8t ± 1. Eight values have eleven bits for their place: eight
 * in a byte, three in a 16-bit word that a group has for itself, with the 3-bit scale and the sign
 * of the eighth.
 */
import { codedFormat } from "./coded.ts";
import { grid } from "./grid.ts";
import { f16At } from "./half.ts";

export const iq1_s = codedFormat(
  {
    ggml: 19,
    elements: 256,
    bytes: 50,
    layout: "f16 d · 32 bytes: low bits of table places · 8 × u16: 4 × 3 high bits, 3-bit scale, sign of the shift",
    factors: [0],
  },
  {
    group: 32,
    largest: 9,
    read(bytes, from, codes, to, factors, at) {
      const table = grid("iq1_s");
      const d = f16At(bytes, from);
      for (let g = 0; g < 8; g++) {
        const word = (bytes[from + 34 + 2 * g] ?? 0) | ((bytes[from + 35 + 2 * g] ?? 0) << 8);
        factors[at + g] = (d * (2 * ((word >> 12) & 7) + 1)) / 8;
        const shift = word & 0x8000 ? -1 : 1;
        for (let l = 0; l < 4; l++) {
          const place = (bytes[from + 2 + 4 * g + l] ?? 0) | (((word >> (3 * l)) & 7) << 8);
          for (let i = 0; i < 8; i++) codes[to++] = 8 * (table[8 * place + i] ?? 0) + shift;
        }
      }
    },
  },
);
