/** Q4_0: 32 values, x = d · (q − 8), q of four bits. Value i is the low half of byte i, value i + 16 the high half. */
import type { PackedFormat } from "./format.ts";
import { f16At } from "./half.ts";

export const q4_0: PackedFormat = {
  ggml: 2,
  elements: 32,
  bytes: 18,
  layout: "f16 d · 16 bytes: two 4-bit q each",
  factors: [0],
  unpack(bytes, from, out, to, blocks) {
    for (let b = 0; b < blocks; b++, from += 18, to += 32) {
      const d = f16At(bytes, from);
      for (let i = 0; i < 16; i++) {
        const q = bytes[from + 2 + i] ?? 0;
        out[to + i] = ((q & 15) - 8) * d;
        out[to + 16 + i] = ((q >> 4) - 8) * d;
      }
    }
  },
};
