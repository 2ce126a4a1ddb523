/** Q5_0: 32 values, x = d · (q − 16). Four bits of q in the order of Q4_0; the fifth of value i is bit i of a word. */
import { u32At } from "./format.ts";
import type { PackedFormat } from "./format.ts";
import { f16At } from "./half.ts";

export const q5_0: PackedFormat = {
  ggml: 6,
  elements: 32,
  bytes: 22,
  layout: "f16 d · u32 fifth bits · 16 bytes: the low four bits of two q each",
  factors: [0],
  unpack(bytes, from, out, to, blocks) {
    for (let b = 0; b < blocks; b++, from += 22, to += 32) {
      const d = f16At(bytes, from);
      const high = u32At(bytes, from + 2);
      for (let i = 0; i < 16; i++) {
        const q = bytes[from + 6 + i] ?? 0;
        out[to + i] = (((q & 15) | (((high >>> i) & 1) << 4)) - 16) * d;
        out[to + 16 + i] = (((q >> 4) | (((high >>> (i + 16)) & 1) << 4)) - 16) * d;
      }
    }
  },
};
