/** Q8_0: 32 values, x = d · q, q of eight bits. */
import { signed } from "./format.ts";
import type { PackedFormat } from "./format.ts";
import { f16At } from "./half.ts";

export const q8_0: PackedFormat = {
  ggml: 8,
  elements: 32,
  bytes: 34,
  layout: "f16 d · 32 × i8 q",
  factors: [0],
  unpack(bytes, from, out, to, blocks) {
    const q = signed(bytes);
    for (let b = 0; b < blocks; b++, from += 34, to += 32) {
      const d = f16At(bytes, from);
      for (let i = 0; i < 32; i++) out[to + i] = (q[from + 2 + i] ?? 0) * d;
    }
  },
};
