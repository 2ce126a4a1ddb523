/**
 * Q4_K and Q5_K: 256 values in 8 groups of 32. Each group has a 6-bit scale and a 6-bit minimum, multiplied by the
 * block's f16 d and dmin: x = (d · sc) · q − (dmin · m).
 *
 * The 16 six-bit numbers lie in 12 bytes: for groups 0-3, byte g holds the scale and byte g+4 the minimum in their low
 * six bits; for groups 4-7, byte g+4 holds four low bits of each (scale in the low nibble), and the upper two bits of
 * bytes g−4 (scale) and g (minimum) are the two high bits.
 *
 * Nibbles come in runs of 32 bytes: the low halves are group 2j, the high halves group 2j+1.
 */
import { f16At } from "../../ir/half.ts";
import type { BlockFormat } from "./format.ts";

const fround = Math.fround;

/** The scales of groups 0-7, then the minimums of groups 0-7. */
export function unpackScales(bytes: Uint8Array, at: number, out: Uint8Array): void {
  for (let g = 0; g < 4; g++) {
    const scale = bytes[at + g] ?? 0;
    const minimum = bytes[at + 4 + g] ?? 0;
    const low = bytes[at + 8 + g] ?? 0;
    out[g] = scale & 63;
    out[8 + g] = minimum & 63;
    out[4 + g] = (low & 15) | ((scale >> 6) << 4);
    out[12 + g] = (low >> 4) | ((minimum >> 6) << 4);
  }
}

export const q4_k: BlockFormat = {
  type: "q4_k",
  blockSize: 256,
  blockBytes: 144,
  layout: "f16 d · f16 dmin · 12 bytes: 8 × (6-bit scale, 6-bit minimum) · 128 bytes: two 4-bit q each",
  dequantize(bytes, from, out, to, blocks) {
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

/** The fifth bit of value i of group g is bit g of byte i of the 32 bytes before the nibbles. */
export const q5_k: BlockFormat = {
  type: "q5_k",
  blockSize: 256,
  blockBytes: 176,
  layout:
    "f16 d · f16 dmin · 12 bytes: 8 × (6-bit scale, 6-bit minimum) · 32 bytes of fifth bits · 128 bytes: the low four bits of two q each",
  dequantize(bytes, from, out, to, blocks) {
    const scales = new Uint8Array(16);
    for (let b = 0; b < blocks; b++, from += 176) {
      const d = f16At(bytes, from);
      const dmin = f16At(bytes, from + 2);
      unpackScales(bytes, from + 4, scales);
      for (let g = 0; g < 8; g++) {
        const scale = fround(d * (scales[g] ?? 0));
        const minimum = fround(dmin * (scales[8 + g] ?? 0));
        const at = from + 48 + (g >> 1) * 32;
        const shift = (g & 1) * 4;
        for (let i = 0; i < 32; i++) {
          const high = ((bytes[from + 16 + i] ?? 0) >> g) & 1;
          const q = (((bytes[at + i] ?? 0) >> shift) & 15) | (high << 4);
          out[to++] = fround(scale * q) - minimum;
        }
      }
    }
  },
};
