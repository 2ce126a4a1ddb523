/** Q4_1: 32 values, x = d · q + m, q of four bits in the order of Q4_0. */
import type { PackedFormat } from "./format.ts";
import { f16At } from "./half.ts";

const fround = Math.fround;

export const q4_1: PackedFormat = {
  ggml: 3,
  elements: 32,
  bytes: 20,
  layout: "f16 d · f16 m · 16 bytes: two 4-bit q each",
  factors: [0, 2],
  unpack(bytes, from, out, to, blocks) {
    for (let b = 0; b < blocks; b++, from += 20, to += 32) {
      const d = f16At(bytes, from);
      const m = f16At(bytes, from + 2);
      for (let i = 0; i < 16; i++) {
        const q = bytes[from + 4 + i] ?? 0;
        out[to + i] = fround((q & 15) * d) + m;
        out[to + 16 + i] = fround((q >> 4) * d) + m;
      }
    }
  },
};
