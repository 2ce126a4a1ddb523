/**
 * IQ3_S: 8 groups of 32, x = (d · (1 + 2 · scale)) · code. Four values have nine bits for their
 * place in a table: eight of them in a byte, one in a byte that eight share. Then a byte of signs
 * for eight values, and two 4-bit scales in a byte.
 */
import { codedFormat } from "./coded.ts";
import { grid, signedEntry } from "./grid.ts";
import { f16At } from "./half.ts";

export const iq3_s = codedFormat(
  {
    ggml: 21,
    elements: 256,
    bytes: 110,
    layout: "f16 d · 64 bytes: low bits of places · 8 bytes: ninth bits · 32 bytes of signs · 4 bytes: two scales each",
    factors: [0],
  },
  {
    group: 32,
    largest: 15,
    read(bytes, from, codes, to, factors, at) {
      const table = grid("iq3_s");
      const d = f16At(bytes, from);
      for (let g = 0; g < 8; g++) {
        const scale = ((bytes[from + 106 + (g >> 1)] ?? 0) >> (4 * (g & 1))) & 15;
        factors[at + g] = d * (1 + 2 * scale);
        const ninth = bytes[from + 66 + g] ?? 0;
        for (let four = 0; four < 8; four++, to += 4) {
          const place = (bytes[from + 2 + 8 * g + four] ?? 0) | (((ninth >> four) & 1) << 8);
          const signs = (bytes[from + 74 + 4 * g + (four >> 1)] ?? 0) >> (4 * (four & 1));
          signedEntry(table, 4 * place, signs, codes, to, 4);
        }
      }
    },
  },
);
