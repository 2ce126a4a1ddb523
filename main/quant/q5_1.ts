/** Q5_1: 32 values, x = d · q + m, q of five bits as in Q5_0. */
import { u32At } from "./format.ts";
import type { PackedFormat } from "./format.ts";
import { f16At } from "./half.ts";

const fround = Math.fround;

export const q5_1: PackedFormat = {
  ggml: 7,
  elements: 32,
  bytes: 24,
  layout: "f16 d · f16 m · u32 fifth bits · 16 bytes: the low four bits of two q each",
  factors: [0, 2],
  unpack(bytes, from, out, to, blocks) {
    for (let b = 0; b < blocks; b++, from += 24, to += 32) {
      const d = f16At(bytes, from);
      const m = f16At(bytes, from + 2);
      const high = u32At(bytes, from + 4);
      for (let i = 0; i < 16; i++) {
        const q = bytes[from + 8 + i] ?? 0;
        out[to + i] = fround(((q & 15) | (((high >>> i) & 1) << 4)) * d) + m;
        out[to + 16 + i] = fround(((q >> 4) | (((high >>> (i + 16)) & 1) << 4)) * d) + m;
      }
    }
  },
};
