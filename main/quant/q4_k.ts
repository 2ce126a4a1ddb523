/**
 * Q4_K: 256 values in 8 groups of 32. Each group has a 6-bit scale and a 6-bit minimum, multiplied
 * by the block's f16 d and dmin: x = (d · sc) · q − (dmin · m).
 *
 * The 16 six-bit numbers lie in 12 bytes: for groups 0-3, byte g holds the scale and byte g+4 the
 * minimum in their low six bits; for groups 4-7, byte g+4 holds four low bits of each (scale in the
 * low nibble), and the upper two bits of bytes g−4 (scale) and g (minimum) are the two high bits.
 *
 * Nibbles come in runs of 32 bytes: the low halves are group 2j, the high halves group 2j+1.
 */
import { unpackScales } from "./format.ts";
import type { PackedFormat } from "./format.ts";
import { f16At } from "./half.ts";

const fround = Math.fround;

export const q4_k: PackedFormat = {
  ggml: 12,
  elements: 256,
  bytes: 144,
  layout: "f16 d · f16 dmin · 12 bytes: 8 × (6-bit scale, 6-bit minimum) · 128 bytes: two 4-bit q each",
  factors: [0, 2],
  unpack(bytes, from, out, to, blocks) {
    const scales = new Uint8Array(16);
    for (let b = 0; b < blocks; b++, from += 144) {
      const d = f16At(bytes, from);
      const dmin = f16At(bytes, from + 2);
      unpackScales(bytes, from + 4, scales);
      for (let g = 0; g < 8; g++) {
        const scale = fround(d * (scales[g] ?? 0));
        const minimum = fround(dmin * (scales[8 + g] ?? 0));
        const at = from + 16 + (g >> 1) * 32;
        const shift = (g & 1) * 4;
        for (let i = 0; i < 32; i++) out[to++] = fround(scale * (((bytes[at + i] ?? 0) >> shift) & 15)) - minimum;
      }
    }
  },
};
