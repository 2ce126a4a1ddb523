/** Q1_0: 128 values of one bit, lowest first: d where it is set, −d where not. */
import { codedFormat } from "./coded.ts";
import { f16At } from "./half.ts";

export const q1_0 = codedFormat(
  { ggml: 41, elements: 128, bytes: 18, layout: "f16 d · 16 bytes: eight signs each", factors: [0] },
  {
    group: 128,
    largest: 1,
    read(bytes, from, codes, to, factors, at) {
      factors[at] = f16At(bytes, from);
      for (let i = 0; i < 128; i++) codes[to + i] = ((bytes[from + 2 + (i >> 3)] ?? 0) >> (i & 7)) & 1 ? 1 : -1;
    },
  },
);
