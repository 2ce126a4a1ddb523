/**
 * Q2_K: 256 values in 16 groups of 16. A byte per group holds a 4-bit scale (low) and a 4-bit minimum (high):
 * x = (d · sc) · q − (dmin · m), q of two bits.
 *
 * Q3_K: the same groups with signed 6-bit scales and no minimum: x = (d · (sc − 32)) · (q − (high bit ? 0 : 4)).
 * Its 16 scales lie in 12 bytes: scale s has its low four bits in byte s mod 8 (upper nibble when s ≥ 8) and its high
 * two bits in byte 8 + s mod 4, at bit 2·⌊s / 4⌋.
 *
 * In both, 32 bytes hold one bit pair of 4 × 32 values: value k·32 + i of a half is at bit 2k of byte i.
 */
import { f16At } from "../../ir/half.ts";
import type { BlockFormat } from "./format.ts";

const fround = Math.fround;

export const q2_k: BlockFormat = {
  type: "q2_k",
  blockSize: 256,
  blockBytes: 84,
  layout: "16 bytes: 4-bit scale, 4-bit minimum · 64 bytes: four 2-bit q each · f16 d · f16 dmin",
  dequantize(bytes, from, out, to, blocks) {
    for (let b = 0; b < blocks; b++, from += 84) {
      const d = f16At(bytes, from + 80);
      const dmin = f16At(bytes, from + 82);
      for (let group = 0; group < 16; group++) {
        const packed = bytes[from + group] ?? 0;
        const scale = fround(d * (packed & 15));
        const minimum = fround(dmin * (packed >> 4));
        const shift = ((group >> 1) & 3) * 2;
        const at = from + 16 + (group >> 3) * 32 + (group & 1) * 16;
        for (let i = 0; i < 16; i++) out[to++] = fround(scale * (((bytes[at + i] ?? 0) >> shift) & 3)) - minimum;
      }
    }
  },
};

export const q3_k: BlockFormat = {
  type: "q3_k",
  blockSize: 256,
  blockBytes: 110,
  layout: "32 bytes of high bits · 64 bytes: four 2-bit q each · 12 bytes: 16 × 6-bit scale · f16 d",
  dequantize(bytes, from, out, to, blocks) {
    for (let b = 0; b < blocks; b++, from += 110) {
      const d = f16At(bytes, from + 108);
      for (let group = 0; group < 16; group++) {
        const nibble = ((bytes[from + 96 + (group & 7)] ?? 0) >> ((group >> 3) * 4)) & 15;
        const pair = ((bytes[from + 104 + (group & 3)] ?? 0) >> ((group >> 2) * 2)) & 3;
        const scale = fround(d * ((nibble | (pair << 4)) - 32));
        const shift = ((group >> 1) & 3) * 2;
        const column = (group & 1) * 16;
        const at = from + 32 + (group >> 3) * 32 + column;
        for (let i = 0; i < 16; i++) {
          const high = ((bytes[from + column + i] ?? 0) >> (group >> 1)) & 1;
          const q = (((bytes[at + i] ?? 0) >> shift) & 3) - (high === 1 ? 0 : 4);
          out[to++] = scale * q;
        }
      }
    }
  },
};
