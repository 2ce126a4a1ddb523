/**
 * IQ2_S: 16 groups of 16, x = (d · (½ + scale) / 4) · code. Eight values have ten bits for their
 * place in a table (eight of them in a byte, two in a byte that four share) and a byte of signs.
 * The 4-bit scales come last, two in a byte.
 */
import { codedFormat } from "./coded.ts";
import { grid, signedEntry } from "./grid.ts";
import { f16At } from "./half.ts";

export const iq2_s = codedFormat(
  {
    ggml: 22,
    elements: 256,
    bytes: 82,
    layout:
      "f16 d · 32 bytes: low bits of places · 32 bytes of signs · 8 bytes: high bits of places · 8 bytes: two scales each",
    factors: [0],
  },
  {
    group: 16,
    largest: 43,
    read(bytes, from, codes, to, factors, at) {
      const table = grid("iq2_s");
      const d = f16At(bytes, from);
      for (let eight = 0; eight < 32; eight++, to += 8) {
        if (eight % 2 === 0) {
          const scale = ((bytes[from + 74 + (eight >> 2)] ?? 0) >> (2 * (eight & 2))) & 15;
          factors[at + (eight >> 1)] = d * (0.5 + scale) * 0.25;
        }
        const high = ((bytes[from + 66 + (eight >> 2)] ?? 0) >> (2 * (eight & 3))) & 3;
        const place = (bytes[from + 2 + eight] ?? 0) | (high << 8);
        signedEntry(table, 8 * place, bytes[from + 34 + eight] ?? 0, codes, to, 8);
      }
    },
  },
);
