/**
 * Q6_K: 256 values in 16 groups of 16, each with a signed 8-bit scale: x = (d · sc) · (q − 32). Two
 * halves of 128 values; in half h, 64 bytes hold low nibbles and 32 bytes the two high bits: value
 * k·32 + i (k 0-3) has its nibble in byte (k & 1)·32 + i, the upper half of it when k ≥ 2, and its
 * two high bits at bit 2k of high byte i.
 */
import { signed } from "./format.ts";
import type { PackedFormat } from "./format.ts";
import { f16At } from "./half.ts";

const fround = Math.fround;

export const q6_k: PackedFormat = {
  ggml: 14,
  elements: 256,
  bytes: 210,
  layout: "128 bytes: low four bits · 64 bytes: high two bits · 16 × i8 scale · f16 d",
  factors: [208],
  unpack(bytes, from, out, to, blocks) {
    const scales = signed(bytes);
    for (let b = 0; b < blocks; b++, from += 210) {
      const d = f16At(bytes, from + 208);
      for (let half = 0; half < 2; half++) {
        const low = from + half * 64;
        const high = from + 128 + half * 32;
        for (let k = 0; k < 4; k++) {
          const nibbles = low + (k & 1) * 32;
          const shift = (k >> 1) * 4;
          for (let i = 0; i < 32; i++) {
            const scale = scales[from + 192 + half * 8 + k * 2 + (i >> 4)] ?? 0;
            const q = (((bytes[nibbles + i] ?? 0) >> shift) & 15) | ((((bytes[high + i] ?? 0) >> (2 * k)) & 3) << 4);
            out[to++] = fround(d * scale) * (q - 32);
          }
        }
      }
    }
  },
};
