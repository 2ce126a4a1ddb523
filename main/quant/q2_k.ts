/**
 * Q2_K: 256 values in 16 groups of 16. A byte per group holds a 4-bit scale (low) and a 4-bit
 * minimum (high): x = (d · sc) · q − (dmin · m), q of two bits.
 *
 * 32 bytes hold one bit pair of 4 × 32 values each: value k·32 + i of a half is at bit 2k of byte
 * i.
 */
import type { PackedFormat } from "./format.ts";
import { f16At } from "./half.ts";

const fround = Math.fround;

export const q2_k: PackedFormat = {
  ggml: 10,
  elements: 256,
  bytes: 84,
  layout: "16 bytes: 4-bit scale, 4-bit minimum · 64 bytes: four 2-bit q each · f16 d · f16 dmin",
  factors: [80, 82],
  unpack(bytes, from, out, to, blocks) {
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
