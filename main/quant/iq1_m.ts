/**
 * IQ1_M: 16 groups of 16, values as IQ1_S: x = (d · (2 · scale + 1)) · (t ± ⅛). Eight values have
 * eleven bits for their place (three of them in a nibble, whose fourth bit is the sign of the
 * eighth). Four 16-bit words have four 3-bit scales each, and in their top four bits a quarter of
 * the f16 d.
 */
import { codedFormat } from "./coded.ts";
import { grid } from "./grid.ts";
import { f16ToF32 } from "./half.ts";

const u16 = (bytes: Uint8Array, at: number): number => (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);

export const iq1_m = codedFormat(
  {
    ggml: 29,
    elements: 256,
    bytes: 56,
    layout:
      "32 bytes: low bits of table places · 16 bytes: two nibbles each (3 high bits, sign) · 4 × u16: 4 scales, 4 bits of f16 d",
    factors: [],
    quarters: [48, 50, 52, 54],
  },
  {
    group: 16,
    largest: 9,
    read(bytes, from, codes, to, factors, at) {
      const table = grid("iq1_s");
      let half = 0;
      for (let k = 0; k < 4; k++) half |= (u16(bytes, from + 48 + 2 * k) >> 12) << (4 * k);
      const d = f16ToF32(half);
      for (let eight = 0; eight < 32; eight++) {
        const g = eight >> 1;
        const scale = (u16(bytes, from + 48 + 2 * (g >> 2)) >> (3 * (g & 3))) & 7;
        factors[at + g] = (d * (2 * scale + 1)) / 8;
        const high = (bytes[from + 32 + g] ?? 0) >> (4 * (eight & 1));
        const place = (bytes[from + eight] ?? 0) | ((high & 7) << 8);
        const shift = high & 8 ? -1 : 1;
        for (let i = 0; i < 8; i++) codes[to++] = 8 * (table[8 * place + i] ?? 0) + shift;
      }
    },
  },
);
