/**
 * Q5_K: as Q4_K, with a fifth bit: that of value i of group g is bit g of byte i of the 32 bytes
 * before the nibbles.
 */
import { unpackScales } from "./format.ts";
import type { PackedFormat } from "./format.ts";
import { f16At } from "./half.ts";

const fround = Math.fround;

export const q5_k: PackedFormat = {
  ggml: 13,
  elements: 256,
  bytes: 176,
  layout:
    "f16 d · f16 dmin · 12 bytes: 8 × (6-bit scale, 6-bit minimum) · 32 bytes of fifth bits · 128 bytes: the low four bits of two q each",
  factors: [0, 2],
  unpack(bytes, from, out, to, blocks) {
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
