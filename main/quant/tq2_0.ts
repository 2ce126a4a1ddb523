/**
 * TQ2_0: 256 values, x = (q − 1) · d, q of two bits. In a half of 128 values, value 32·j + i is at
 * bit 2j of byte i. Models trained for it hold −1, 0 and 1 only.
 */
import { codedFormat } from "./coded.ts";
import { f16At } from "./half.ts";

export const tq2_0 = codedFormat(
  { ggml: 35, elements: 256, bytes: 66, layout: "64 bytes: four 2-bit q each · f16 d", factors: [64] },
  {
    group: 256,
    largest: 2,
    read(bytes, from, codes, to, factors, at) {
      factors[at] = f16At(bytes, from + 64);
      for (let run = 0; run < 8; run++) {
        const first = from + 32 * (run >> 2);
        const shift = 2 * (run & 3);
        for (let i = 0; i < 32; i++) codes[to++] = (((bytes[first + i] ?? 0) >> shift) & 3) - 1;
      }
    },
  },
);
