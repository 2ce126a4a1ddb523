/**
 * Q3_K: the groups of Q2_K with signed 6-bit scales and no minimum: x = (d · (sc − 32)) · (q −
 * (high bit ? 0 : 4)). Its 16 scales lie in 12 bytes: scale s has its low four bits in byte s mod 8
 * (upper nibble when s ≥ 8) and its high two bits in byte 8 + s mod 4, at bit 2·⌊s / 4⌋.
 *
 * The two low bits lie as in Q2_K.
 */
import type { PackedFormat } from "./format.ts";
import { f16At } from "./half.ts";

const fround = Math.fround;

export const q3_k: PackedFormat = {
  ggml: 11,
  elements: 256,
  bytes: 110,
  layout: "32 bytes of high bits · 64 bytes: four 2-bit q each · 12 bytes: 16 × 6-bit scale · f16 d",
  factors: [108],
  unpack(bytes, from, out, to, blocks) {
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
