/** Q2_0: 64 values of two bits, lowest first: x = (q − 1) · d. */
import { codedFormat } from "./coded.ts";
import { f16At } from "./half.ts";

export const q2_0 = codedFormat(
  { ggml: 42, elements: 64, bytes: 18, layout: "f16 d · 16 bytes: four 2-bit q each", factors: [0] },
  {
    group: 64,
    largest: 2,
    read(bytes, from, codes, to, factors, at) {
      factors[at] = f16At(bytes, from);
      for (let i = 0; i < 64; i++) codes[to + i] = (((bytes[from + 2 + (i >> 2)] ?? 0) >> (2 * (i & 3))) & 3) - 1;
    },
  },
);
